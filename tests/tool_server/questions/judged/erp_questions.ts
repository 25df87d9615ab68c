import type { QuestionText } from "./question.ts";

/** About the ERP of 2,000 tables. Its data ends with the year 2025; users speak of the business, not of tables. */
export const erpQuestions: readonly QuestionText[] = [
  {
    id: "erp_open_orders_key_accounts",
    question: "How many orders from key accounts are still open or confirmed?",
    sql: `SELECT count(*) FROM sales.sales_order o JOIN sales.customer c ON c.id = o.customer_id
WHERE c.segment = 'key_account' AND o.status IN ('open', 'confirmed')`,
    tables: ["sales.sales_order", "sales.customer"],
    tags: ["value", "near_duplicate"],
  },
  {
    id: "erp_open_orders_small_business",
    question: "and from small businesses?",
    sql: `SELECT count(*) FROM sales.sales_order o JOIN sales.customer c ON c.id = o.customer_id
WHERE c.segment = 'small_business' AND o.status IN ('open', 'confirmed')`,
    tables: ["sales.sales_order", "sales.customer"],
    tags: ["value", "near_duplicate"],
    after: ["erp_open_orders_key_accounts"],
  },
  {
    id: "erp_orders_2022",
    question: "number of sales orders per month in 2022, as month number and count",
    sql: `SELECT extract(month FROM order_date), count(*) FROM sales.sales_order_archive
WHERE order_date BETWEEN '2022-01-01' AND '2022-12-31' GROUP BY 1`,
    tables: ["sales.sales_order_archive"],
    tags: ["time", "near_duplicate"],
  },
  {
    id: "erp_revenue_by_country_2025",
    question: "What did we bill by customer country in 2025?",
    sql: `SELECT c.country, sum(i.inv_amt) FROM fin.ar_inv i JOIN sales.customer c ON c.id = i.cust_id
WHERE i.inv_dt BETWEEN '2025-01-01' AND '2025-12-31' GROUP BY c.country`,
    tables: ["fin.ar_inv", "sales.customer"],
    tags: ["hard", "time", "near_duplicate"],
  },
  {
    id: "erp_overdue_receivables",
    question:
      "Which 10 customers owe us the most on invoices that were due by the end of 2025? name and amount",
    sql: `SELECT c.name, sum(i.opn_amt) AS owed FROM fin.ar_inv i JOIN sales.customer c ON c.id = i.cust_id
WHERE i.due_dt <= '2025-12-31' AND i.opn_amt > 0 GROUP BY c.id, c.name ORDER BY owed DESC LIMIT 10`,
    ordered: true,
    tables: ["fin.ar_inv", "sales.customer"],
    tags: ["hard", "superlative", "near_duplicate"],
  },
  {
    id: "erp_dunned_customers",
    question: "customers in the last reminder stage (3), just their names",
    sql: `SELECT DISTINCT c.name FROM fin.ar_inv i JOIN sales.customer c ON c.id = i.cust_id
WHERE i.dun_lvl = 3 AND i.opn_amt > 0`,
    tables: ["fin.ar_inv", "sales.customer"],
    tags: ["hard"],
  },
  {
    id: "erp_paid_late",
    question: "What percentage of the vendor bills that are paid did we pay after the due date?",
    sql: "SELECT 100 * avg((pd_dt > due_dt)::integer) FROM fin.ap_inv WHERE pd_dt IS NOT NULL",
    tables: ["fin.ap_inv"],
    tags: ["hard", "ratio", "near_duplicate"],
  },
  {
    id: "erp_travel_costs",
    question: "How much did we spend on travel in 2025 according to the general ledger?",
    sql:
      `SELECT sum(l.dr_amt - l.cr_amt) FROM fin.gl_jrnl_ln l JOIN fin.gl_jrnl_hdr h ON h.jrnl_id = l.jrnl_id
JOIN fin.gl_acct a ON a.acct_no = l.acct_no
WHERE a.acct_nm = 'Travel Expenses' AND h.pstg_dt BETWEEN '2025-01-01' AND '2025-12-31'`,
    tables: ["fin.gl_jrnl_ln", "fin.gl_jrnl_hdr", "fin.gl_acct"],
    tags: ["hard", "value", "time"],
  },
  {
    id: "erp_overtime_department",
    question: "Overtime hours by department for October 2025, highest first",
    sql: `SELECT d.name, sum(s.ot_hrs) AS hours FROM payroll.slry_slip s JOIN hr.employee e ON e.id = s.emp_id
JOIN hr.department d ON d.id = e.department_id WHERE s.prd = '2025-10' GROUP BY d.id, d.name ORDER BY hours DESC`,
    ordered: true,
    tables: ["payroll.slry_slip", "hr.employee", "hr.department"],
    tags: ["hard", "time"],
  },
  {
    id: "erp_headcount_site",
    question: "current headcount per location (name of the location)",
    sql: `SELECT s.name, count(*) FROM hr.employee e JOIN core.mdm_site s ON s.id = e.site_id
WHERE e.left_on IS NULL GROUP BY s.id, s.name`,
    tables: ["hr.employee", "core.mdm_site"],
    tags: ["hard", "near_duplicate"],
  },
  {
    id: "erp_missing_fire_safety",
    question: "How many of the current staff in production never did the fire safety course?",
    sql: `SELECT count(*) FROM hr.employee e JOIN hr.department d ON d.id = e.department_id
WHERE d.name = 'Production' AND e.left_on IS NULL AND NOT EXISTS (
  SELECT FROM hr.training_attendance a JOIN hr.training t ON t.id = a.training_id
  WHERE a.employee_id = e.id AND t.title = 'Fire Safety')`,
    tables: ["hr.employee", "hr.department", "hr.training_attendance", "hr.training"],
    tags: ["anti_join", "value"],
  },
  {
    id: "erp_sick_leave_2025",
    question: "sick days taken per department, absences that began in 2025",
    sql: `SELECT d.name, sum(a.working_days) FROM hr.absence a JOIN hr.employee e ON e.id = a.employee_id
JOIN hr.department d ON d.id = e.department_id
WHERE a.kind = 'sickness' AND a.starts_on BETWEEN '2025-01-01' AND '2025-12-31' GROUP BY d.id, d.name`,
    tables: ["hr.absence", "hr.employee", "hr.department"],
    tags: ["time", "near_duplicate"],
  },
  {
    id: "erp_reports_of_purchasing_head",
    question:
      "who reports to the head of purchasing? personnel numbers please, only people who are still here",
    sql: `SELECT e.personnel_number FROM hr.employee e JOIN hr.employee m ON m.id = e.manager_id
JOIN hr.department d ON d.id = m.department_id
WHERE d.name = 'Purchasing' AND m.job_title = 'Head of Department' AND e.left_on IS NULL`,
    tables: ["hr.employee", "hr.department"],
    tags: ["self_join", "hard"],
  },
  {
    id: "erp_below_reorder",
    question:
      "Which parts in the Lyon spare parts warehouse have fallen below the point where we should reorder? item number and what is there",
    sql: `SELECT i.item_number, b.on_hand FROM inventory.stock_balance b
JOIN inventory.item i ON i.id = b.item_id JOIN inventory.warehouse w ON w.id = b.warehouse_id
WHERE w.name = 'Lyon Spare Parts' AND b.on_hand < b.reorder_point`,
    tables: ["inventory.stock_balance", "inventory.item", "inventory.warehouse"],
    tags: ["value", "near_duplicate"],
  },
  {
    id: "erp_stock_value",
    question: "inventory value at standard cost per warehouse",
    sql: `SELECT w.name, sum(b.on_hand * i.standard_cost) FROM inventory.stock_balance b
JOIN inventory.item i ON i.id = b.item_id JOIN inventory.warehouse w ON w.id = b.warehouse_id GROUP BY w.id, w.name`,
    tables: ["inventory.stock_balance", "inventory.item", "inventory.warehouse"],
  },
  {
    id: "erp_obsolete_in_stock",
    question: "How many obsolete articles do we still have lying around somewhere?",
    sql: `SELECT count(DISTINCT i.id) FROM inventory.item i JOIN inventory.stock_balance b ON b.item_id = i.id
WHERE i.lifecycle = 'obsolete' AND b.on_hand > 0`,
    tables: ["inventory.item", "inventory.stock_balance"],
    tags: ["hard"],
  },
  {
    id: "erp_scrapped_2025",
    question: "top 3 items by quantity scrapped in the warehouses during 2025: number, quantity",
    sql: `SELECT i.item_number, sum(m.quantity) AS scrapped FROM inventory.stock_movement m
JOIN inventory.item i ON i.id = m.item_id
WHERE m.movement_type = 'scrap' AND m.moved_at >= '2025-01-01' AND m.moved_at < '2026-01-01'
GROUP BY i.id, i.item_number ORDER BY scrapped DESC LIMIT 3`,
    ordered: true,
    tables: ["inventory.stock_movement", "inventory.item"],
    tags: ["superlative", "near_duplicate"],
  },
  {
    id: "erp_late_suppliers",
    question:
      "On-time delivery rate of our Chinese vendors in percent, one row per vendor (name), for everything that has arrived",
    sql: `SELECT s.name, 100 * avg((o.received_on <= o.promised_on)::integer)
FROM procurement.purchase_order o JOIN procurement.supplier s ON s.id = o.supplier_id
WHERE s.country = 'CN' AND o.received_on IS NOT NULL GROUP BY s.id, s.name`,
    tables: ["procurement.purchase_order", "procurement.supplier"],
    tags: ["hard", "ratio", "near_duplicate"],
  },
  {
    id: "erp_spend_supplier_2025",
    question:
      "Who are our five biggest suppliers by order value in 2025? Leave out drafts and cancelled ones. Name and value",
    sql: `SELECT s.name, sum(l.quantity * l.price) AS value FROM procurement.purchase_order o
JOIN procurement.purchase_order_line l ON l.purchase_order_id = o.id
JOIN procurement.supplier s ON s.id = o.supplier_id
WHERE o.ordered_on BETWEEN '2025-01-01' AND '2025-12-31' AND o.status NOT IN ('draft', 'cancelled')
GROUP BY s.id, s.name ORDER BY value DESC LIMIT 5`,
    ordered: true,
    tables: ["procurement.purchase_order", "procurement.purchase_order_line", "procurement.supplier"],
    tags: ["superlative", "time", "near_duplicate"],
  },
  {
    id: "erp_expiring_agreements",
    question:
      "framwork contracts that run out in the first half of 2026 with the supplier's name and end date",
    sql: `SELECT s.name, a.ends_on FROM procurement.framework_agreement a
JOIN procurement.supplier s ON s.id = a.supplier_id WHERE a.ends_on BETWEEN '2026-01-01' AND '2026-06-30'`,
    tables: ["procurement.framework_agreement", "procurement.supplier"],
    tags: ["typo", "time", "near_duplicate"],
  },
  {
    id: "erp_unapproved_suppliers",
    question: "did we order anything in 2025 from vendors that are not approved? give me the PO numbers",
    sql:
      `SELECT o.po_number FROM procurement.purchase_order o JOIN procurement.supplier s ON s.id = o.supplier_id
WHERE NOT s.is_approved AND o.ordered_on BETWEEN '2025-01-01' AND '2025-12-31'`,
    tables: ["procurement.purchase_order", "procurement.supplier"],
    tags: ["hard", "time"],
  },
  {
    id: "erp_scrap_rate_plant",
    question: "scrap rate per plant in percent of what was produced (good + scrap), finished jobs only",
    sql: `SELECT s.name, 100.0 * sum(w.scrap_quantity) / sum(w.good_quantity + w.scrap_quantity)
FROM production.work_order w JOIN core.mdm_site s ON s.id = w.site_id
WHERE w.finished_on IS NOT NULL GROUP BY s.id, s.name`,
    tables: ["production.work_order", "core.mdm_site"],
    tags: ["ratio", "hard"],
  },
  {
    id: "erp_breakdown_hours",
    question:
      "Which machine stood still the longest in 2025 because of breakdowns, and how many minutes was that?",
    sql:
      `SELECT m.name, sum(d.minutes) FROM production.machine_downtime d JOIN production.machine m ON m.id = d.machine_id
WHERE d.cause = 'breakdown' AND d.started_at >= '2025-01-01' AND d.started_at < '2026-01-01'
GROUP BY m.id, m.name ORDER BY 2 DESC FETCH FIRST ROW WITH TIES`,
    tables: ["production.machine_downtime", "production.machine"],
    tags: ["superlative", "time"],
  },
  {
    id: "erp_where_used",
    question: "In which products is RAW-1132 used, directly? item number and how much of it goes into one",
    sql: `SELECT p.item_number, b.quantity_per FROM production.bill_of_material b
JOIN inventory.item p ON p.id = b.parent_item_id JOIN inventory.item c ON c.id = b.component_item_id
WHERE c.item_number = 'RAW-1132'`,
    tables: ["production.bill_of_material", "inventory.item"],
    tags: ["self_join", "value", "hard"],
  },
  {
    id: "erp_failed_checks",
    question: "How many quality checks failed at Brno?",
    sql: `SELECT count(*) FROM quality.inspection q JOIN production.work_order w ON w.id = q.work_order_id
JOIN core.mdm_site s ON s.id = w.site_id WHERE q.result = 'fail' AND s.city = 'Brno'`,
    tables: ["quality.inspection", "production.work_order", "core.mdm_site"],
    tags: ["hard", "value"],
  },
  {
    id: "erp_critical_complaints_pumps",
    question:
      "open critical customer complaints about pumps: customer name, item number, day received, oldest first",
    sql: `SELECT c.name, i.item_number, q.received_on FROM quality.complaint q
JOIN sales.customer c ON c.id = q.customer_id JOIN inventory.item i ON i.id = q.item_id
JOIN inventory.item_group g ON g.id = i.item_group_id
WHERE q.closed_on IS NULL AND q.severity = 'critical' AND g.name = 'Pumps' ORDER BY q.received_on`,
    ordered: true,
    tables: ["quality.complaint", "sales.customer", "inventory.item", "inventory.item_group"],
    tags: ["value"],
  },
  {
    id: "erp_unused_carrier",
    question: "Is there a freight forwarder on our list that we have never used?",
    sql:
      `SELECT c.name FROM logistics.carrier c WHERE NOT EXISTS (SELECT FROM logistics.shipment s WHERE s.carrier_id = c.id)`,
    tables: ["logistics.carrier", "logistics.shipment"],
    tags: ["anti_join", "hard"],
  },
  {
    id: "erp_freight_mode",
    question: "average freight cost of a shipment by mode of transport",
    sql:
      `SELECT c.mode, avg(s.freight_cost) FROM logistics.shipment s JOIN logistics.carrier c ON c.id = s.carrier_id GROUP BY c.mode`,
    tables: ["logistics.shipment", "logistics.carrier"],
    tags: ["near_duplicate"],
  },
  {
    id: "erp_late_to_customer",
    question: "how many deliveries reached the customer later than they had asked for",
    sql: `SELECT count(*) FROM logistics.shipment s JOIN sales.sales_order o ON o.id = s.sales_order_id
WHERE s.delivered_on > o.requested_date`,
    tables: ["logistics.shipment", "sales.sales_order"],
    tags: ["hard"],
  },
  {
    id: "erp_lead_conversion",
    question: "conversion rate of leads by source in percent",
    sql: `SELECT source, 100 * avg((status = 'converted')::integer) FROM crm.lead GROUP BY source`,
    tables: ["crm.lead"],
    tags: ["ratio"],
  },
  {
    id: "erp_quote_hit_rate",
    question: "What part of the money we quoted in 2025 did we win, in percent?",
    sql: `SELECT 100 * sum(amount) FILTER (WHERE status = 'won') / sum(amount) FROM sales.quotation
WHERE issued_on BETWEEN '2025-01-01' AND '2025-12-31'`,
    tables: ["sales.quotation"],
    tags: ["ratio", "hard", "time", "near_duplicate"],
  },
  {
    id: "erp_emergency_tickets",
    question: "Emergency support requests that no technician has taken yet, ticket number and customer",
    sql:
      `SELECT t.ticket_number, c.name FROM service.service_ticket t JOIN sales.customer c ON c.id = t.customer_id
WHERE t.urgency = 'emergency' AND t.technician_id IS NULL`,
    tables: ["service.service_ticket", "sales.customer"],
    tags: ["value"],
  },
  {
    id: "erp_billable_hours",
    question: "billable hours per project in the third quarter of 2025, project code and hours",
    sql:
      `SELECT p.code, sum(t.hours) FROM projects.timesheet_entry t JOIN projects.project p ON p.id = t.project_id
WHERE t.billable AND t.work_date BETWEEN '2025-07-01' AND '2025-09-30' GROUP BY p.id, p.code`,
    tables: ["projects.timesheet_entry", "projects.project"],
    tags: ["time"],
  },
  {
    id: "erp_electricity_poznan",
    question: "electricity used in Poznań in 2025 compared to 2024: two rows, year and kWh",
    sql: `SELECT extract(year FROM r.month), sum(r.consumption) FROM plant.ene_meter_reading r
JOIN plant.ene_meter m ON m.id = r.meter_id JOIN core.mdm_site s ON s.id = m.site_id
WHERE s.city = 'Poznań' AND m.medium = 'electricity' AND r.month BETWEEN '2024-01-01' AND '2025-12-31' GROUP BY 1`,
    tables: ["plant.ene_meter_reading", "plant.ene_meter", "core.mdm_site"],
    tags: ["value", "time"],
  },
  {
    id: "erp_old_forklifts",
    question:
      "forklifts still in use that are older than their planned life at the end of 2025: tag and purchase date",
    sql: `SELECT asset_tag, acquired_on FROM assets.fixed_asset
WHERE description LIKE 'Forklift%' AND disposed_on IS NULL
  AND acquired_on + make_interval(years => useful_years) < '2026-01-01'`,
    tables: ["assets.fixed_asset"],
    tags: ["value", "hard"],
  },
  {
    id: "erp_zloty_rate",
    question: "What was the zloty worth in euros in December 2025?",
    sql: "SELECT rate_to_eur FROM core.mdm_currency_rate WHERE currency = 'PLN' AND valid_on = '2025-12-01'",
    tables: ["core.mdm_currency_rate"],
    tags: ["hard", "time"],
  },
  {
    id: "erp_open_invoices",
    question: "How many invoices are open?",
    expects: "question",
    tables: ["fin.ar_inv", "fin.ap_inv"],
    tags: ["near_duplicate"],
  },
  {
    id: "erp_returns",
    question: "Show me all returns from last year",
    expects: "question",
    tables: ["sales.return_order", "procurement.vendor_return", "logistics.return_shipment"],
    tags: ["near_duplicate"],
  },
];
