// Small and general on purpose: what people ask for against what tables are called, whatever the trade.
const groups = `
customer client buyer consumer shopper patron, customer account,
employee staff worker personnel colleague workforce, employee person, user member account login,
user person, person people individual contact, product item article good merchandise sku, product part,
order purchase, order sale, revenue sale turnover income earning, revenue amount, revenue total,
sale amount, seller vendor merchant, supplier vendor provider, invoice bill billing, payment transaction,
payment receipt, price cost, price amount, price rate, cost expense spending expenditure spend,
amount total sum, amount value, quantity count unit amount, quantity stock, stock inventory,
inventory warehouse, warehouse depot storage, department division unit, team group squad,
salary wage pay compensation payroll remuneration, payroll payslip, hire join, address location,
address street, location place site, city town, country nation, state province, region area territory zone,
zip postal postcode, phone telephone mobile, email mail, birth birthday dob, category type kind class,
category genre, status state, doctor physician, doctor provider, nurse staff, patient person,
visit appointment encounter admission, drug medication medicine prescription,
disease diagnosis condition illness, illness sickness, student pupil learner,
teacher instructor professor lecturer, course class subject, grade mark score, enrollment registration,
movie film, actor performer, song track, album record, artist musician band, book title, author writer,
shipment delivery, shipment package parcel, carrier shipper, manager supervisor boss,
ticket issue case incident, comment note remark, review rating feedback, vehicle car, truck vehicle,
trip journey ride, flight trip, hotel property, booking reservation, guest visitor, visit session,
contract agreement, leave absence vacation holiday, applicant candidate, vacancy opening, job position role,
job task, task todo, meeting appointment, store shop branch outlet, discount promotion coupon voucher,
refund return, cart basket, loan credit, balance amount, profit margin, tax vat, website site,
company organization firm business, campaign promotion, machine equipment device, device asset,
damage claim, policy insurance, accident incident, message chat, attachment file document,
log history audit, error failure, permission privilege, manufacturer maker brand, weight mass,
duration length, temperature reading, measurement reading, crop plant, rent lease, tenant renter,
apartment flat unit, expiry expiration, deadline due, cancellation churn, subscription plan,
schedule timetable calendar, shift schedule, training course, skill competency, goal target objective,
opportunity deal, lead prospect, cheap price, expensive price, old age
`;

function partners(): Map<string, Set<string>> {
  const found = new Map<string, Set<string>>();
  for (const group of groups.trim().split(/,\s+/)) {
    const members = group.split(" ");
    for (const member of members) {
      const others = found.get(member) ?? new Set();
      members.filter((other) => other !== member).forEach((other) => others.add(other));
      found.set(member, others);
    }
  }
  return found;
}

/** Words that a request may use for what a schema calls otherwise; in the singular, both ways. */
export const synonyms: ReadonlyMap<string, ReadonlySet<string>> = partners();

/** Irregular forms that no suffix rule leads back to the word in a name. */
export const irregularForms: ReadonlyMap<string, string> = new Map(
  `sold sale, sell sale, selling sale, bought purchase, buy purchase, buying purchase, spent spend,
  paid payment, sent send, wrote author, written author, taught teacher, teach teacher, taken take,
  earn salary, earned salary, live address, born birth, died death, ate meal, flew flight, flown flight,
  drove driver, owed debt, owe debt, lent loan, borrowed loan, prescribed prescription, admitted admission,
  supplied supplier, supply supplier, complained complaint`.split(",").map((entry): [string, string] => {
    const [form = "", base = ""] = entry.trim().split(" ");
    return [form, base];
  }),
);

// A short form, then the words it stands for; several where names in use disagree.
const entries = `
abbr abbreviation, acc account access, acct account, acctg accounting, actg accounting, act activity actual,
addr address, adj adjustment, adm admission administration, admin administration administrator,
adv advance advertisement, agmt agreement, agt agent, alloc allocation, alt alternate, amt amount,
app application appointment, appl application, appr approval, appt appointment, arr arrival,
asgn assignment, assoc association, attr attribute, auth authorization authentication, avail availability,
avg average, bal balance, beg begin, bgt budget, bill billing, bkg booking, bldg building,
bom bill_of_materials, brch branch, bus business, calc calculation, cal calendar, camp campaign,
cat category, cc cost_center credit_card, cd code, cert certificate, chg charge change, chk check,
cls class, clm claim, cmt comment, cnt count, cntry country, cntr center contract, co company,
coa chart_of_accounts, comm commission communication, comp company compensation,
conf confirmation conference, config configuration, contr contract, corp corporation, cr credit, crs course,
ctr center contract, ctry country, ctct contact, curr currency current, cur currency, cust customer,
cty city county, db debit database, del delivery deleted, deliv delivery, dep department deposit dependent,
depr depreciation, dept department, desc description, descr description, dest destination, det detail,
dev device, diag diagnosis, dim dimension, disc discount, dist distribution district, div division,
dlr dealer, dlv delivery, dob birth birthday, doc document doctor, dr debit doctor, drv driver,
dscnt discount, dt date, dte date, dtl detail, ed education, eff effective, elig eligibility,
emp employee employment, empl employee, encntr encounter, enr enrollment, enrl enrollment, equip equipment,
est estimate, evt event, ex exchange, exp expense expiration expiry, ext extension external,
fac facility faculty, fin finance financial, flt flight, fname first_name, freq frequency, fwd forward,
fy fiscal_year, gl general_ledger, gen general, grd grade, grp group, gtwy gateway, hdr header,
hist history, hol holiday, hosp hospital, hr human_resources hour, hrs hours, img image,
inc income incident, ind indicator industry, info information, ingr ingredient, ins insurance,
inst institution installment, instr instructor instrument, int interest internal, inv inventory invoice,
invc invoice, invt inventory, itm item, iss issue, jrnl journal, kpi key_performance_indicator,
lang language, lbl label, lbr labor, lic license, ln line loan, lname last_name, loc location, lvl level,
maint maintenance, mat material, matl material, max maximum, mbr member, mdl model,
med medical medication medicine, memb member, mfg manufacturing, mfr manufacturer, mgmt management,
mgr manager, min minimum, mkt market marketing, mktg marketing, mo month, mod module, mon month,
mov movement, msg message, mtg meeting mortgage, mtl material, mvmt movement, nbr number, nm name,
no number, nr number, num number, obj object, occ occupation occurrence, ofc office, ofr offer,
opp opportunity, oppty opportunity, ops operations, ord order, ordr order, org organization, orig origin,
par parent, pat patient, pay payment payroll, pct percent, perf performance, perm permission,
pers person personnel, ph phone, phys physician, pkg package, pl plan price_list, plcy policy, pmt payment,
po purchase_order, pol policy, pos position, prc price procedure, prd product period, prec precipitation,
pref preference, prem premium premises, prf profile, prc price, prj project, prob problem,
proc procedure process procurement, prod product production, prof professor profile, proj project,
promo promotion, prop property, prov provider province, prsn person, prty priority party, purch purchase,
pur purchase, pwd password, pymt payment, qa quality_assurance, qc quality_control, qlty quality, qry query,
qt quote quotation, qtr quarter, qty quantity, rcpt receipt, rcv receive, rec record recruitment,
recv receive, ref reference, reg region registration, rel relation release, rep representative report,
req request requisition, res reservation result resource, resv reservation, ret return,
rev revenue review revision, rgn region, rl role, rm room, rpt report, rsrc resource, rte route, rtn return,
sal salary, sat satisfaction, sched schedule, schd schedule, sec security section, seq sequence,
ser serial service, sess session, sev severity, shft shift, ship shipment shipping, shp shipment,
shpmt shipment, sku product, slr seller salary, sls sales, so sales_order, spec specification specialty,
sr service_request, src source, ss social_security, st status state street, stat status statistic,
std standard student, stk stock, stmt statement, stor store storage, str street string store, stu student,
sub subscription, subj subject, subs subscription subscriber, sum summary, sup supplier supervisor support,
supp supplier, supv supervisor, surv survey, svc service, sym symptom symbol, sys system, tbl table,
tck ticket, tel telephone, temp temperature, term terminal, tkt ticket, tm time team, tmpl template,
tot total, tran transaction, trans transaction translation transfer, trn transaction training, trk track,
trmt treatment, trx transaction, tx transaction tax, txn transaction, typ type, uom unit_of_measure,
upd update, usr user, util utilization, val value, veh vehicle, ven vendor, ver version, vhcl vehicle,
vis visit, vndr vendor, vol volume, vst visit, wgt weight, wh warehouse, whs warehouse, whse warehouse,
wo work_order, wrk work, wt weight, xfer transfer, xref reference, yr year, zip postal_code
`;

/** What short forms in database names stand for; a meaning of several words has `_` between them. */
export const abbreviations: ReadonlyMap<string, readonly string[]> = new Map(
  entries.trim().split(/,\s+/).map((entry): [string, string[]] => {
    const [short = "", ...meanings] = entry.split(" ");
    return [short, meanings];
  }),
);
