/** A table whose columns are written by hand, since questions are asked about it. */
export interface KeyTable {
  readonly comment?: string;
  /** A column's definition in each line; what stands after two dashes is its comment. */
  readonly columns: string;
}

/** By `schema.name`; the generator makes each where its module's turn comes, with its copies and satellites. */
export const erpKeyTables: Readonly<Record<string, KeyTable>> = {
  "core.mdm_site": {
    comment: "Plants, offices and depots of the group",
    columns: `id integer PRIMARY KEY
code text NOT NULL UNIQUE
name text NOT NULL
city text NOT NULL
country char(2) NOT NULL
kind text NOT NULL CHECK (kind IN ('plant', 'office', 'depot'))
opened_on date NOT NULL`,
  },
  "core.mdm_currency_rate": {
    columns: `id integer PRIMARY KEY
currency char(3) NOT NULL
valid_on date NOT NULL
rate_to_eur numeric(12,6) NOT NULL -- Euros for one unit`,
  },
  "hr.department": {
    columns: `id integer PRIMARY KEY
name text NOT NULL UNIQUE
cost_center text NOT NULL`,
  },
  "hr.employee": {
    comment: "Everyone with a contract of employment, former staff too",
    columns: `id integer PRIMARY KEY
personnel_number text NOT NULL UNIQUE
first_name text NOT NULL
last_name text NOT NULL
department_id integer NOT NULL REFERENCES hr.department
manager_id integer REFERENCES hr.employee
site_id integer NOT NULL REFERENCES core.mdm_site
job_title text NOT NULL
hired_on date NOT NULL
left_on date -- NULL while employed`,
  },
  "hr.absence": {
    columns: `id integer PRIMARY KEY
employee_id integer NOT NULL REFERENCES hr.employee
kind text NOT NULL CHECK (kind IN ('vacation', 'sickness', 'parental', 'unpaid'))
starts_on date NOT NULL
ends_on date NOT NULL
working_days integer NOT NULL`,
  },
  "hr.training": {
    columns: `id integer PRIMARY KEY
title text NOT NULL
mandatory boolean NOT NULL
valid_months integer -- NULL where it never has to be repeated`,
  },
  "hr.training_attendance": {
    columns: `employee_id integer REFERENCES hr.employee
training_id integer REFERENCES hr.training
completed_on date
PRIMARY KEY (employee_id, training_id, completed_on)`,
  },
  "inventory.item_group": {
    columns: `id integer PRIMARY KEY
code text NOT NULL
name text NOT NULL`,
  },
  "inventory.item": {
    comment: "Everything that is made, bought or sold",
    columns: `id integer PRIMARY KEY
item_number text NOT NULL UNIQUE
description text NOT NULL
item_group_id integer NOT NULL REFERENCES inventory.item_group
unit text NOT NULL
standard_cost numeric(12,2) NOT NULL -- In EUR
lifecycle text NOT NULL CHECK (lifecycle IN ('active', 'phase_out', 'obsolete'))
weight_kg numeric(10,3)`,
  },
  "inventory.warehouse": {
    columns: `id integer PRIMARY KEY
code text NOT NULL UNIQUE
name text NOT NULL
site_id integer NOT NULL REFERENCES core.mdm_site
is_bonded boolean NOT NULL`,
  },
  "inventory.stock_balance": {
    comment: "What lies where now",
    columns: `warehouse_id integer REFERENCES inventory.warehouse
item_id integer REFERENCES inventory.item
on_hand numeric(14,3) NOT NULL
reserved numeric(14,3) NOT NULL
reorder_point numeric(14,3) NOT NULL -- Order again below this
PRIMARY KEY (warehouse_id, item_id)`,
  },
  "inventory.stock_movement": {
    columns: `id integer PRIMARY KEY
item_id integer NOT NULL REFERENCES inventory.item
warehouse_id integer NOT NULL REFERENCES inventory.warehouse
movement_type text NOT NULL CHECK (movement_type IN ('receipt', 'issue', 'transfer', 'scrap', 'count'))
quantity numeric(14,3) NOT NULL
moved_at timestamp NOT NULL`,
  },
  "sales.customer": {
    comment: "Companies that buy from us",
    columns: `id integer PRIMARY KEY
customer_number text NOT NULL UNIQUE
name text NOT NULL
country char(2) NOT NULL
segment text NOT NULL CHECK (segment IN ('key_account', 'mid_market', 'small_business', 'public_sector'))
credit_limit numeric(14,2) NOT NULL
account_manager_id integer REFERENCES hr.employee
blocked boolean NOT NULL`,
  },
  "sales.sales_order": {
    comment: "Orders of 2024 and later; earlier ones are in the archive",
    columns: `id integer PRIMARY KEY
order_number text NOT NULL UNIQUE
customer_id integer NOT NULL REFERENCES sales.customer
order_date date NOT NULL
requested_date date NOT NULL -- When the customer wants the goods
status text NOT NULL CHECK (status IN ('open', 'confirmed', 'shipped', 'invoiced', 'cancelled'))
sales_rep_id integer REFERENCES hr.employee`,
  },
  "sales.sales_order_line": {
    columns: `order_id integer REFERENCES sales.sales_order
line_number integer
item_id integer NOT NULL REFERENCES inventory.item
quantity numeric(14,3) NOT NULL
unit_price numeric(12,2) NOT NULL
discount_percent numeric(5,2) NOT NULL
delivered_quantity numeric(14,3) NOT NULL
PRIMARY KEY (order_id, line_number)`,
  },
  "sales.quotation": {
    comment: "Offers made to customers",
    columns: `id integer PRIMARY KEY
quotation_number text NOT NULL UNIQUE
customer_id integer NOT NULL REFERENCES sales.customer
issued_on date NOT NULL
valid_until date NOT NULL
amount numeric(14,2) NOT NULL
status text NOT NULL CHECK (status IN ('sent', 'won', 'lost', 'expired'))
order_id integer REFERENCES sales.sales_order`,
  },
  "procurement.supplier": {
    columns: `id integer PRIMARY KEY
supplier_number text NOT NULL UNIQUE
name text NOT NULL
country char(2) NOT NULL
rating char(1) NOT NULL CHECK (rating IN ('A', 'B', 'C'))
payment_terms_days integer NOT NULL
is_approved boolean NOT NULL`,
  },
  "procurement.purchase_order": {
    comment: "What we ordered from suppliers",
    columns: `id integer PRIMARY KEY
po_number text NOT NULL UNIQUE
supplier_id integer NOT NULL REFERENCES procurement.supplier
buyer_id integer REFERENCES hr.employee
ordered_on date NOT NULL
promised_on date NOT NULL
received_on date -- NULL until everything has come
status text NOT NULL CHECK (status IN ('draft', 'sent', 'partly_received', 'received', 'cancelled'))`,
  },
  "procurement.purchase_order_line": {
    columns: `purchase_order_id integer REFERENCES procurement.purchase_order
line_number integer
item_id integer NOT NULL REFERENCES inventory.item
quantity numeric(14,3) NOT NULL
price numeric(12,2) NOT NULL -- For one unit, in EUR
PRIMARY KEY (purchase_order_id, line_number)`,
  },
  "procurement.framework_agreement": {
    columns: `id integer PRIMARY KEY
supplier_id integer NOT NULL REFERENCES procurement.supplier
starts_on date NOT NULL
ends_on date NOT NULL
agreed_volume numeric(14,2) NOT NULL`,
  },
  "production.machine": {
    columns: `id integer PRIMARY KEY
machine_number text NOT NULL UNIQUE
name text NOT NULL
site_id integer NOT NULL REFERENCES core.mdm_site
hourly_rate numeric(10,2) NOT NULL`,
  },
  "production.work_order": {
    comment: "Jobs on the shop floor",
    columns: `id integer PRIMARY KEY
work_order_number text NOT NULL UNIQUE
item_id integer NOT NULL REFERENCES inventory.item
site_id integer NOT NULL REFERENCES core.mdm_site
planned_quantity integer NOT NULL
good_quantity integer NOT NULL
scrap_quantity integer NOT NULL
started_on date NOT NULL
finished_on date`,
  },
  "production.bill_of_material": {
    comment: "Which item goes into which",
    columns: `parent_item_id integer REFERENCES inventory.item
component_item_id integer REFERENCES inventory.item
quantity_per numeric(12,3) NOT NULL
PRIMARY KEY (parent_item_id, component_item_id)`,
  },
  "production.machine_downtime": {
    columns: `id integer PRIMARY KEY
machine_id integer NOT NULL REFERENCES production.machine
started_at timestamp NOT NULL
minutes integer NOT NULL
cause text NOT NULL CHECK (cause IN ('breakdown', 'changeover', 'no_material', 'no_operator', 'cleaning'))`,
  },
  "quality.inspection": {
    columns: `id integer PRIMARY KEY
work_order_id integer NOT NULL REFERENCES production.work_order
inspected_on date NOT NULL
result text NOT NULL CHECK (result IN ('pass', 'rework', 'fail'))
inspector_id integer REFERENCES hr.employee`,
  },
  "quality.complaint": {
    comment: "Complaints of customers about delivered goods",
    columns: `id integer PRIMARY KEY
customer_id integer NOT NULL REFERENCES sales.customer
item_id integer NOT NULL REFERENCES inventory.item
received_on date NOT NULL
severity text NOT NULL CHECK (severity IN ('minor', 'major', 'critical'))
closed_on date`,
  },
  "logistics.carrier": {
    columns: `id integer PRIMARY KEY
name text NOT NULL
mode text NOT NULL CHECK (mode IN ('road', 'rail', 'air', 'sea'))`,
  },
  "logistics.shipment": {
    columns: `id integer PRIMARY KEY
shipment_number text NOT NULL UNIQUE
sales_order_id integer NOT NULL REFERENCES sales.sales_order
carrier_id integer NOT NULL REFERENCES logistics.carrier
shipped_on date NOT NULL
delivered_on date
freight_cost numeric(12,2) NOT NULL`,
  },
  "crm.lead": {
    columns: `id integer PRIMARY KEY
company_name text NOT NULL
source text NOT NULL CHECK (source IN ('web', 'fair', 'referral', 'cold_call', 'partner'))
created_on date NOT NULL
status text NOT NULL CHECK (status IN ('new', 'contacted', 'qualified', 'converted', 'dropped'))
owner_id integer REFERENCES hr.employee`,
  },
  "service.service_ticket": {
    comment: "Requests of customers for help after the sale",
    columns: `id integer PRIMARY KEY
ticket_number text NOT NULL UNIQUE
customer_id integer NOT NULL REFERENCES sales.customer
item_id integer REFERENCES inventory.item
opened_at timestamp NOT NULL
closed_at timestamp
urgency text NOT NULL CHECK (urgency IN ('low', 'normal', 'high', 'emergency'))
technician_id integer REFERENCES hr.employee`,
  },
  "projects.project": {
    columns: `id integer PRIMARY KEY
code text NOT NULL UNIQUE
name text NOT NULL
customer_id integer REFERENCES sales.customer
manager_id integer NOT NULL REFERENCES hr.employee
budget numeric(14,2) NOT NULL
starts_on date NOT NULL
ends_on date`,
  },
  "projects.timesheet_entry": {
    columns: `id integer PRIMARY KEY
project_id integer NOT NULL REFERENCES projects.project
employee_id integer NOT NULL REFERENCES hr.employee
work_date date NOT NULL
hours numeric(5,2) NOT NULL
billable boolean NOT NULL`,
  },
  "assets.fixed_asset": {
    columns: `id integer PRIMARY KEY
asset_tag text NOT NULL UNIQUE
description text NOT NULL
acquired_on date NOT NULL
acquisition_cost numeric(14,2) NOT NULL
useful_years integer NOT NULL
site_id integer NOT NULL REFERENCES core.mdm_site
disposed_on date`,
  },
  "fin.gl_acct": {
    comment: "Chart of accounts",
    columns: `acct_no text PRIMARY KEY
acct_nm text NOT NULL
acct_typ char(1) NOT NULL CHECK (acct_typ IN ('A', 'L', 'R', 'E')) -- A asset, L liability, R revenue, E expense`,
  },
  "fin.gl_jrnl_hdr": {
    columns: `jrnl_id integer PRIMARY KEY
pstg_dt date NOT NULL
doc_typ char(2) NOT NULL
crt_by text NOT NULL`,
  },
  "fin.gl_jrnl_ln": {
    columns: `jrnl_id integer REFERENCES fin.gl_jrnl_hdr
ln_no integer
acct_no text NOT NULL REFERENCES fin.gl_acct
cst_ctr_cd text
dr_amt numeric(14,2) NOT NULL
cr_amt numeric(14,2) NOT NULL
PRIMARY KEY (jrnl_id, ln_no)`,
  },
  "fin.ar_inv": {
    comment: "Outgoing invoices",
    columns: `inv_id integer PRIMARY KEY
inv_no text NOT NULL UNIQUE
cust_id integer NOT NULL REFERENCES sales.customer
inv_dt date NOT NULL
due_dt date NOT NULL
inv_amt numeric(14,2) NOT NULL
opn_amt numeric(14,2) NOT NULL -- What has not been paid yet
dun_lvl smallint NOT NULL`,
  },
  "fin.ap_inv": {
    comment: "Incoming invoices",
    columns: `inv_id integer PRIMARY KEY
spl_id integer NOT NULL REFERENCES procurement.supplier
spl_inv_no text NOT NULL
inv_dt date NOT NULL
due_dt date NOT NULL
inv_amt numeric(14,2) NOT NULL
pd_dt date`,
  },
  "payroll.slry_slip": {
    columns: `slip_id integer PRIMARY KEY
emp_id integer NOT NULL REFERENCES hr.employee
prd char(7) NOT NULL -- YYYY-MM
grs_amt numeric(10,2) NOT NULL
net_amt numeric(10,2) NOT NULL
ot_hrs numeric(6,2) NOT NULL`,
  },
  "plant.ene_meter": {
    columns: `id integer PRIMARY KEY
meter_number text NOT NULL UNIQUE
site_id integer NOT NULL REFERENCES core.mdm_site
medium text NOT NULL CHECK (medium IN ('electricity', 'gas', 'water', 'steam'))`,
  },
  "plant.ene_meter_reading": {
    columns: `meter_id integer REFERENCES plant.ene_meter
month date
consumption numeric(14,2) NOT NULL -- kWh, for water cubic meters
PRIMARY KEY (meter_id, month)`,
  },
};
