// One line a short form: the form, then the words it stands for; several where names in use disagree.
const lines = `
abbr abbreviation
acc account access
acct account
acctg accounting
actg accounting
act activity actual
addr address
adj adjustment
adm admission administration
admin administration administrator
adv advance advertisement
agmt agreement
agt agent
alloc allocation
alt alternate
amt amount
app application appointment
appl application
appr approval
appt appointment
arr arrival
asgn assignment
assoc association
attr attribute
auth authorization authentication
avail availability
avg average
bal balance
beg begin
bgt budget
bill billing
bkg booking
bldg building
bom bill_of_materials
brch branch
bus business
calc calculation
cal calendar
camp campaign
cat category
cc cost_center credit_card
cd code
cert certificate
chg charge change
chk check
cls class
clm claim
cmt comment
cnt count
cntry country
cntr center contract
co company
coa chart_of_accounts
comm commission communication
comp company compensation
conf confirmation conference
config configuration
contr contract
corp corporation
cr credit
crs course
ctr center contract
ctry country
ctct contact
curr currency current
cur currency
cust customer
cty city county
db debit database
del delivery deleted
deliv delivery
dep department deposit dependent
depr depreciation
dept department
desc description
descr description
dest destination
det detail
dev device
diag diagnosis
dim dimension
disc discount
dist distribution district
div division
dlr dealer
dlv delivery
dob birth birthday
doc document doctor
dr debit doctor
drv driver
dscnt discount
dt date
dte date
dtl detail
ed education
eff effective
elig eligibility
emp employee employment
empl employee
encntr encounter
enr enrollment
enrl enrollment
equip equipment
est estimate
evt event
ex exchange
exp expense expiration expiry
ext extension external
fac facility faculty
fin finance financial
flt flight
fname first_name
freq frequency
fwd forward
fy fiscal_year
gl general_ledger
gen general
grd grade
grp group
gtwy gateway
hdr header
hist history
hol holiday
hosp hospital
hr human_resources hour
hrs hours
img image
inc income incident
ind indicator industry
info information
ingr ingredient
ins insurance
inst institution installment
instr instructor instrument
int interest internal
inv inventory invoice
invc invoice
invt inventory
itm item
iss issue
jrnl journal
kpi key_performance_indicator
lang language
lbl label
lbr labor
lic license
ln line loan
lname last_name
loc location
lvl level
maint maintenance
mat material
matl material
max maximum
mbr member
mdl model
med medical medication medicine
memb member
mfg manufacturing
mfr manufacturer
mgmt management
mgr manager
min minimum
mkt market marketing
mktg marketing
mo month
mod module
mon month
mov movement
msg message
mtg meeting mortgage
mtl material
mvmt movement
nbr number
nm name
no number
nr number
num number
obj object
occ occupation occurrence
ofc office
ofr offer
opp opportunity
oppty opportunity
ops operations
ord order
ordr order
org organization
orig origin
par parent
pat patient
pay payment payroll
pct percent
perf performance
perm permission
pers person personnel
ph phone
phys physician
pkg package
pl plan price_list
plcy policy
pmt payment
po purchase_order
pol policy
pos position
prc price procedure
prd product period
prec precipitation
pref preference
prem premium premises
prf profile
prc price
prj project
prob problem
proc procedure process procurement
prod product production
prof professor profile
proj project
promo promotion
prop property
prov provider province
prsn person
prty priority party
purch purchase
pur purchase
pwd password
pymt payment
qa quality_assurance
qc quality_control
qlty quality
qry query
qt quote quotation
qtr quarter
qty quantity
rcpt receipt
rcv receive
rec record recruitment
recv receive
ref reference
reg region registration
rel relation release
rep representative report
req request requisition
res reservation result resource
resv reservation
ret return
rev revenue review revision
rgn region
rl role
rm room
rpt report
rsrc resource
rte route
rtn return
sal salary
sat satisfaction
sched schedule
schd schedule
sec security section
seq sequence
ser serial service
sess session
sev severity
shft shift
ship shipment shipping
shp shipment
shpmt shipment
sku product
slr seller salary
sls sales
so sales_order
spec specification specialty
sr service_request
src source
ss social_security
st status state street
stat status statistic
std standard student
stk stock
stmt statement
stor store storage
str street string store
stu student
sub subscription
subj subject
subs subscription subscriber
sum summary
sup supplier supervisor support
supp supplier
supv supervisor
surv survey
svc service
sym symptom symbol
sys system
tbl table
tck ticket
tel telephone
temp temperature
term terminal
tkt ticket
tm time team
tmpl template
tot total
tran transaction
trans transaction translation transfer
trn transaction training
trk track
trmt treatment
trx transaction
tx transaction tax
txn transaction
typ type
uom unit_of_measure
upd update
usr user
util utilization
val value
veh vehicle
ven vendor
ver version
vhcl vehicle
vis visit
vndr vendor
vol volume
vst visit
wgt weight
wh warehouse
whs warehouse
whse warehouse
wo work_order
wrk work
wt weight
xfer transfer
xref reference
yr year
zip postal_code
`;

/** What short forms in database names stand for; a meaning of several words has `_` between them. */
export const abbreviations: ReadonlyMap<string, readonly string[]> = new Map(
  lines.trim().split("\n").map((line): [string, string[]] => {
    const [short = "", ...meanings] = line.split(" ");
    return [short, meanings];
  }),
);
