-- Rows for the tables that questions are asked about, and for some copies of them that an answer must not come from.
-- From hashes, so the same everywhere. The data ends with the year 2025.

CREATE FUNCTION pg_temp.roll(purpose text, number integer, sides integer) RETURNS integer
IMMUTABLE LANGUAGE sql AS $$ SELECT ('x' || left(md5(purpose || number), 7))::bit(28)::integer % sides $$;

CREATE FUNCTION pg_temp.choose(purpose text, number integer, choices text[]) RETURNS text
IMMUTABLE LANGUAGE sql AS $$ SELECT choices[1 + pg_temp.roll(purpose, number, cardinality(choices))] $$;

INSERT INTO core.mdm_site (id, code, name, city, country, kind, opened_on) VALUES
  (1, 'HAM1', 'Hamburg Headquarters', 'Hamburg', 'DE', 'office', '1978-04-01'), (2, 'BRN1', 'Brno Plant', 'Brno', 'CZ', 'plant', '1996-09-12'),
  (3, 'POZ1', 'Poznań Plant', 'Poznań', 'PL', 'plant', '2004-02-20'), (4, 'LYO1', 'Lyon Plant', 'Lyon', 'FR', 'plant', '1988-06-30'),
  (5, 'ROT1', 'Rotterdam Depot', 'Rotterdam', 'NL', 'depot', '2011-03-15'), (6, 'CHI1', 'Chicago Depot', 'Chicago', 'US', 'depot', '2016-10-01');

INSERT INTO core.mdm_currency_rate (id, currency, valid_on, rate_to_eur)
SELECT row_number() OVER (), c, m, base * (970 + pg_temp.roll('rate' || c, m - date '2020-01-01', 60)) / 1000
FROM (VALUES ('USD', 0.92), ('CZK', 0.0402), ('PLN', 0.2310), ('GBP', 1.17)) r (c, base), LATERAL (SELECT generate_series(date '2024-01-01', '2025-12-01', '1 month')::date AS m) months;

INSERT INTO hr.department (id, name, cost_center) VALUES (1, 'Management', '1000'), (2, 'Finance', '1100'), (3, 'Human Resources', '1200'), (4, 'Sales', '2000'),
  (5, 'Purchasing', '3000'), (6, 'Production', '4000'), (7, 'Quality', '4100'), (8, 'Logistics', '5000'), (9, 'Customer Service', '6000'), (10, 'Engineering', '7000');

INSERT INTO hr.employee (id, personnel_number, first_name, last_name, department_id, manager_id, site_id, job_title, hired_on, left_on)
SELECT i, 'P' || 10000 + i * 3, pg_temp.choose('first', i, '{Agata,Bernd,Camille,Dana,Erik,Fanny,Gregor,Hana,Igor,Jana,Karel,Lotte,Marek,Nina,Otto,Petra}'),
  pg_temp.choose('last', i, '{Adler,Bauer,Černý,Dvořák,Engel,Fournier,Girard,Horák,Jansen,Kowalczyk,Lange,Mazur,Nowak,Otte,Pospíšil,Roux}'),
  CASE WHEN i <= 10 THEN i ELSE 1 + pg_temp.roll('department', i, 10) END, CASE WHEN i > 10 THEN 1 + pg_temp.roll('manager', i, 10) WHEN i > 1 THEN 1 END,
  1 + pg_temp.roll('site', i, 6), CASE WHEN i <= 10 THEN 'Head of Department' ELSE pg_temp.choose('title', i, '{Clerk,Specialist,Senior Specialist,Technician,Operator,Planner}') END,
  date '2001-01-15' + pg_temp.roll('hired', i, 8800), CASE WHEN i > 20 AND pg_temp.roll('left', i, 7) = 0 THEN date '2025-01-31' + pg_temp.roll('left on', i, 330) END
FROM generate_series(1, 160) i;

INSERT INTO hr.absence (id, employee_id, kind, starts_on, ends_on, working_days)
SELECT i, 1 + pg_temp.roll('absent', i, 160), pg_temp.choose('absence', i, '{vacation,vacation,vacation,sickness,sickness,parental,unpaid}'), s, s + n, greatest(1, n * 5 / 7)
FROM generate_series(1, 500) i, LATERAL (SELECT date '2024-01-08' + pg_temp.roll('from', i, 715) AS s, pg_temp.roll('absent days', i, 21) AS n) x;

INSERT INTO hr.training (id, title, mandatory, valid_months) VALUES (1, 'Fire Safety', true, 24), (2, 'Data Protection', true, 12), (3, 'Forklift License', false, 12),
  (4, 'First Aid', false, 24), (5, 'Code of Conduct', true, NULL), (6, 'Advanced Negotiation', false, NULL), (7, 'Lean Basics', false, NULL);
INSERT INTO hr.training_attendance (employee_id, training_id, completed_on)
SELECT e, t, date '2023-01-10' + pg_temp.roll('completed', e * 10 + t, 1060) FROM generate_series(1, 160) e, generate_series(1, 7) t
WHERE pg_temp.roll('attended', e * 10 + t, 10) < CASE WHEN t IN (1, 2, 5) THEN 9 ELSE 3 END;

INSERT INTO inventory.item_group (id, code, name) VALUES (1, 'RAW', 'Raw Materials'), (2, 'PMP', 'Pumps'), (3, 'VLV', 'Valves'), (4, 'SPR', 'Spare Parts'), (5, 'PCK', 'Packaging'), (6, 'ELC', 'Electronics');
INSERT INTO inventory.item (id, item_number, description, item_group_id, unit, standard_cost, lifecycle, weight_kg)
SELECT i, (ARRAY['RAW', 'PMP', 'VLV', 'SPR', 'PCK', 'ELC'])[g] || '-' || 1000 + i,
  pg_temp.choose('adjective', i, '{Compact,Heavy Duty,Stainless,Standard,Miniature,High Pressure}') || ' ' || (ARRAY['Steel Bar', 'Centrifugal Pump', 'Ball Valve', 'Seal Kit', 'Crate', 'Control Unit'])[g] || ' ' || i,
  g, CASE g WHEN 1 THEN 'kg' ELSE 'pc' END, (ARRAY[4, 640, 85, 12, 7, 210])[g] + pg_temp.roll('item cost', i, 4000) / 100.0,
  pg_temp.choose('lifecycle', i, '{active,active,active,active,phase_out,obsolete}'), 0.2 + pg_temp.roll('weight', i, 400) / 10.0
FROM generate_series(1, 200) i, LATERAL (SELECT 1 + i % 6 AS g) x;

INSERT INTO inventory.warehouse (id, code, name, site_id, is_bonded) VALUES (1, 'W-BRN', 'Brno Components', 2, false), (2, 'W-POZ', 'Poznań Finished Goods', 3, false),
  (3, 'W-LYO', 'Lyon Spare Parts', 4, false), (4, 'W-ROT', 'Rotterdam Hub', 5, true), (5, 'W-CHI', 'Chicago Hub', 6, true);
INSERT INTO inventory.stock_balance (warehouse_id, item_id, on_hand, reserved, reorder_point)
SELECT w, i, pg_temp.roll('on hand', w * 1000 + i, 400), pg_temp.roll('reserved', w * 1000 + i, 40), 30 + pg_temp.roll('reorder', w * 1000 + i, 60)
FROM generate_series(1, 5) w, generate_series(1, 200) i WHERE pg_temp.roll('stocked', w * 1000 + i, 3) > 0;
INSERT INTO inventory.stock_movement (id, item_id, warehouse_id, movement_type, quantity, moved_at)
SELECT i, 1 + pg_temp.roll('moved item', i, 150), 1 + pg_temp.roll('moved in', i, 5), pg_temp.choose('movement', i, '{receipt,issue,issue,transfer,scrap,count}'),
  1 + pg_temp.roll('moved', i, 80), timestamp '2025-01-02 06:00' + pg_temp.roll('moved at', i, 8700) * interval '1 hour'
FROM generate_series(1, 900) i;

INSERT INTO sales.customer (id, customer_number, name, country, segment, credit_limit, account_manager_id, blocked)
SELECT i, 'C' || 50000 + i * 7, pg_temp.choose('customer name', i, '{Aqua,Baltic,Cascade,Delta,Evergreen,Fluvia,Global,Hydro,Inter,Jura}') || ' ' ||
    pg_temp.choose('customer trade', i, '{Engineering,Water Works,Chemicals,Foods,Systems,Utilities}') || ' ' || i,
  pg_temp.choose('customer country', i, '{DE,DE,FR,PL,CZ,NL,US,AT}'), pg_temp.choose('segment', i, '{key_account,mid_market,mid_market,small_business,small_business,public_sector}'),
  10000 + 5000 * pg_temp.roll('limit', i, 60), CASE WHEN pg_temp.roll('managed', i, 5) > 0 THEN 11 + pg_temp.roll('account manager', i, 12) END, pg_temp.roll('blocked', i, 14) = 0
FROM generate_series(1, 130) i;

INSERT INTO sales.sales_order (id, order_number, customer_id, order_date, requested_date, status, sales_rep_id)
SELECT i, 'SO-' || 240000 + i, 1 + pg_temp.roll('ordering', i, 110), d, d + 10 + pg_temp.roll('requested', i, 40),
  CASE WHEN d > '2025-11-20' THEN pg_temp.choose('new order', i, '{open,open,confirmed,confirmed,shipped}') ELSE pg_temp.choose('old order', i, '{invoiced,invoiced,invoiced,invoiced,shipped,cancelled}') END,
  11 + pg_temp.roll('sold by', i, 12)
FROM generate_series(1, 500) i, LATERAL (SELECT date '2024-01-02' + i * 729 / 500 AS d) x;
INSERT INTO sales.sales_order_line (order_id, line_number, item_id, quantity, unit_price, discount_percent, delivered_quantity)
SELECT o.id, n, t.id, q.quantity, round(t.standard_cost * (13 + pg_temp.roll('markup', o.id * 5 + n, 8)) / 10, 2), pg_temp.choose('line discount', o.id * 5 + n, '{0,0,0,5,10}')::numeric,
  CASE WHEN o.status IN ('shipped', 'invoiced') THEN q.quantity ELSE 0 END
FROM sales.sales_order o, generate_series(1, 3) n
JOIN LATERAL (SELECT 1) one ON true, LATERAL (SELECT 1 + pg_temp.roll('line quantity', o.id * 5 + n, 20) AS quantity) q
JOIN inventory.item t ON true
WHERE n <= 1 + pg_temp.roll('lines', o.id, 3) AND t.id = 1 + pg_temp.roll('sold item', o.id * 5 + n, 170) AND t.item_group_id <> 1;
INSERT INTO sales.sales_order_archive (id, order_number, customer_id, order_date, requested_date, status, sales_rep_id, archived_at)
SELECT i, 'SO-' || 210000 + i, 1 + pg_temp.roll('ordered then', i, 90), d, d + 21, pg_temp.choose('then', i, '{invoiced,invoiced,invoiced,cancelled}'), 11 + pg_temp.roll('sold then', i, 12), timestamp '2024-01-06 02:00'
FROM generate_series(90001, 90300) i, LATERAL (SELECT date '2022-01-03' + (i - 90000) * 725 / 300 AS d) x;
INSERT INTO sales.sales_order_staging (id, order_number, customer_id, order_date, requested_date, status, load_id)
SELECT id + 100000, order_number, customer_id, order_date, requested_date, status, 77 FROM sales.sales_order WHERE id % 20 = 0;
INSERT INTO sales.customer_history (id, customer_number, name, country, segment, credit_limit, blocked, version_from)
SELECT id, customer_number, name, country, segment, credit_limit / 2, NOT blocked, timestamp '2023-05-01' FROM sales.customer WHERE id % 2 = 0;
INSERT INTO sales.quotation (id, quotation_number, customer_id, issued_on, valid_until, amount, status, order_id)
SELECT i, 'Q-' || 7000 + i, o.customer_id, o.order_date - 12, o.order_date + 18, 800 + 37 * pg_temp.roll('quoted', i, 900), s.status, CASE WHEN s.status = 'won' THEN o.id END
FROM generate_series(1, 300) i JOIN sales.sales_order o ON o.id = i + 150, LATERAL (SELECT pg_temp.choose('quote', i, '{won,won,lost,lost,expired,sent}') AS status) s;

INSERT INTO procurement.supplier (id, supplier_number, name, country, rating, payment_terms_days, is_approved)
SELECT i, 'V' || 3000 + i * 11, pg_temp.choose('supplier name', i, '{Moravia,Nordic,Orion,Prime,Quartz,Rhein}') || ' ' || pg_temp.choose('supplier trade', i, '{Steel,Castings,Electronics,Plastics,Logistics}') || ' ' || i,
  pg_temp.choose('supplier country', i, '{DE,CZ,PL,IT,CN,CN,FR}'), pg_temp.choose('rating', i, '{A,A,B,B,C}'), pg_temp.choose('terms', i, '{14,30,30,60}')::integer, pg_temp.roll('approved', i, 8) > 0
FROM generate_series(1, 70) i;
INSERT INTO procurement.purchase_order (id, po_number, supplier_id, buyer_id, ordered_on, promised_on, received_on, status)
SELECT i, 'PO-' || 88000 + i, 1 + pg_temp.roll('bought from', i, 62), 23 + pg_temp.roll('buyer', i, 8), d, p, CASE WHEN s.status = 'received' THEN p - 8 + pg_temp.roll('came', i, 22) END, s.status
FROM generate_series(1, 420) i, LATERAL (SELECT date '2024-01-05' + i * 725 / 420 AS d) x, LATERAL (SELECT d + 14 + pg_temp.roll('promised', i, 30) AS p) y,
  LATERAL (SELECT CASE WHEN d > '2025-11-10' THEN pg_temp.choose('new po', i, '{draft,sent,sent,partly_received}') ELSE pg_temp.choose('po', i, '{received,received,received,received,received,received,received,sent,cancelled}') END AS status) s;
INSERT INTO procurement.purchase_order_line (purchase_order_id, line_number, item_id, quantity, price)
SELECT o.id, n, t.id, 5 + pg_temp.roll('bought', o.id * 4 + n, 95), round(t.standard_cost * (85 + pg_temp.roll('buying', o.id * 4 + n, 30)) / 100, 2)
FROM procurement.purchase_order o, generate_series(1, 2) n, inventory.item t
WHERE n <= 1 + pg_temp.roll('po lines', o.id, 2) AND t.id = 1 + pg_temp.roll('bought item', o.id * 4 + n, 180);
INSERT INTO procurement.purchase_order_archive (id, po_number, supplier_id, ordered_on, promised_on, received_on, status, archived_at)
SELECT id + 90000, 'PO-' || 60000 + id, supplier_id, ordered_on - 730, promised_on - 730, received_on - 730, 'received', timestamp '2024-01-06 02:00' FROM procurement.purchase_order WHERE status = 'received' AND ordered_on < '2025-12-01' AND id % 2 = 0;
INSERT INTO procurement.framework_agreement (id, supplier_id, starts_on, ends_on, agreed_volume)
SELECT i, 2 * i, date '2024-01-01' + 90 * (i % 5), date '2025-06-30' + 61 * (i % 9), 50000 + 10000 * pg_temp.roll('volume', i, 40) FROM generate_series(1, 25) i;

INSERT INTO production.machine (id, machine_number, name, site_id, hourly_rate)
SELECT i, 'M-' || 100 + i, (ARRAY['Lathe', 'Milling Center', 'Press', 'Welding Robot', 'Assembly Line', 'Test Bench'])[1 + i % 6] || ' ' || i, 2 + i % 3, 35 + pg_temp.roll('machine rate', i, 90) FROM generate_series(1, 36) i;
INSERT INTO production.machine_downtime (id, machine_id, started_at, minutes, cause)
SELECT i, 1 + pg_temp.roll('stopped machine', i, 33), timestamp '2025-01-01 06:00' + pg_temp.roll('stopped at', i, 8700) * interval '1 hour', 5 + pg_temp.roll('stopped for', i, 300), pg_temp.choose('cause', i, '{breakdown,breakdown,changeover,changeover,no_material,no_operator,cleaning}')
FROM generate_series(1, 400) i;
INSERT INTO production.work_order (id, work_order_number, item_id, site_id, planned_quantity, good_quantity, scrap_quantity, started_on, finished_on)
SELECT i, 'WO-' || 5000 + i, 1 + 6 * pg_temp.roll('made', i, 30) + pg_temp.roll('made group', i, 2), 2 + pg_temp.roll('made at', i, 3), p, CASE WHEN f THEN p - sc ELSE 0 END, CASE WHEN f THEN sc ELSE 0 END, s, CASE WHEN f THEN s + 2 + pg_temp.roll('made in', i, 20) END
FROM generate_series(1, 350) i, LATERAL (SELECT 20 + pg_temp.roll('planned', i, 180) AS p, pg_temp.roll('scrap', i, 12) AS sc, date '2024-06-03' + i * 570 / 350 AS s, i <= 335 AS f) x;
INSERT INTO production.bill_of_material (parent_item_id, component_item_id, quantity_per)
SELECT DISTINCT ON (1, 2) p.id, c.id, 1 + pg_temp.roll('per', p.id * 300 + n, 6) FROM inventory.item p, generate_series(1, 4) n JOIN LATERAL (SELECT 1) one ON true, inventory.item c
WHERE p.item_group_id IN (2, 3) AND c.id = 1 + pg_temp.roll('component', p.id * 300 + n, 200) AND c.item_group_id IN (1, 4, 5, 6) ORDER BY 1, 2, n;

INSERT INTO quality.inspection (id, work_order_id, inspected_on, result, inspector_id)
SELECT i, w.id, w.finished_on + 1, pg_temp.choose('inspected', i, '{pass,pass,pass,pass,pass,pass,rework,fail}'), 40 + i % 6 FROM generate_series(1, 300) i JOIN production.work_order w ON w.id = i;
INSERT INTO quality.complaint (id, customer_id, item_id, received_on, severity, closed_on)
SELECT i, 1 + pg_temp.roll('complaining', i, 100), t.id, d, pg_temp.choose('severity', i, '{minor,minor,major,critical}'), CASE WHEN pg_temp.roll('closed', i, 5) > 0 THEN d + 3 + pg_temp.roll('closed in', i, 60) END
FROM generate_series(1, 220) i, LATERAL (SELECT date '2024-02-01' + pg_temp.roll('complained', i, 690) AS d) x, inventory.item t WHERE t.id = 1 + pg_temp.roll('bad item', i, 170);

INSERT INTO logistics.carrier (id, name, mode) VALUES (1, 'Hansa Cargo', 'road'), (2, 'EuroTrans', 'road'), (3, 'BlueRail', 'rail'), (4, 'SkyLift', 'air'), (5, 'Maritime One', 'sea'), (6, 'Polar Freight', 'sea');
INSERT INTO logistics.shipment (id, shipment_number, sales_order_id, carrier_id, shipped_on, delivered_on, freight_cost)
SELECT row_number() OVER (ORDER BY o.id), 'SH-' || 30000 + o.id, o.id, 1 + pg_temp.roll('carrier', o.id, 5), s, CASE WHEN s < '2025-12-10' THEN s + 1 + pg_temp.roll('under way', o.id, 15) END, 40 + pg_temp.roll('freight', o.id, 90000) / 100.0
FROM sales.sales_order o, LATERAL (SELECT o.requested_date - 12 + pg_temp.roll('shipped', o.id, 16) AS s) x WHERE o.status IN ('shipped', 'invoiced');

INSERT INTO crm.lead (id, company_name, source, created_on, status, owner_id)
SELECT i, pg_temp.choose('lead', i, '{Alfa,Brava,Corta,Domo,Esta}') || ' ' || pg_temp.choose('lead trade', i, '{Marine,Mining,Dairy,Paper}') || ' ' || i, pg_temp.choose('source', i, '{web,web,fair,referral,cold_call,partner}'), date '2025-01-03' + pg_temp.roll('lead on', i, 360),
  pg_temp.choose('lead status', i, '{new,contacted,qualified,converted,converted,dropped}'), 11 + pg_temp.roll('lead owner', i, 12) FROM generate_series(1, 260) i;

INSERT INTO service.service_ticket (id, ticket_number, customer_id, item_id, opened_at, closed_at, urgency, technician_id)
SELECT i, 'T' || 9000 + i, 1 + pg_temp.roll('ticket by', i, 120), 1 + pg_temp.roll('ticket item', i, 170), o, CASE WHEN pg_temp.roll('ticket open', i, 9) > 0 THEN o + (1 + pg_temp.roll('ticket hours', i, 300)) * interval '1 hour' END,
  pg_temp.choose('urgency', i, '{low,normal,normal,normal,high,emergency}'), CASE WHEN pg_temp.roll('ticket taken', i, 10) > 0 THEN 50 + i % 9 END
FROM generate_series(1, 320) i, LATERAL (SELECT timestamp '2025-01-02 08:00' + pg_temp.roll('ticket at', i, 8600) * interval '1 hour' AS o) x;

INSERT INTO projects.project (id, code, name, customer_id, manager_id, budget, starts_on, ends_on)
SELECT i, 'PRJ-' || 400 + i, pg_temp.choose('project', i, '{Pump Station,Plant Upgrade,Warehouse Automation,ERP Rollout,Valve Redesign}') || ' ' || i, CASE WHEN i % 3 > 0 THEN 1 + pg_temp.roll('project for', i, 100) END, 2 + pg_temp.roll('project lead', i, 30),
  20000 + 2000 * pg_temp.roll('budget', i, 120), date '2024-03-01' + 15 * i, CASE WHEN i < 25 THEN date '2024-12-01' + 15 * i END FROM generate_series(1, 35) i;
INSERT INTO projects.timesheet_entry (id, project_id, employee_id, work_date, hours, billable)
SELECT i, p.id, 30 + pg_temp.roll('worked', i, 60), p.starts_on + pg_temp.roll('worked on', i, 200), (1 + pg_temp.roll('worked for', i, 16)) / 2.0, pg_temp.roll('billable', i, 4) > 0 FROM generate_series(1, 900) i JOIN projects.project p ON p.id = 1 + pg_temp.roll('worked at', i, 35);

INSERT INTO assets.fixed_asset (id, asset_tag, description, acquired_on, acquisition_cost, useful_years, site_id, disposed_on)
SELECT i, 'A-' || 2000 + i, pg_temp.choose('asset', i, '{Forklift,Delivery Van,Server Rack,Compressor,Office Furniture,Crane}') || ' ' || i, date '2010-01-01' + pg_temp.roll('acquired', i, 5800), 900 + 150 * pg_temp.roll('asset cost', i, 600), 3 + pg_temp.roll('useful', i, 8), 1 + pg_temp.roll('asset site', i, 6),
  CASE WHEN pg_temp.roll('disposed', i, 6) = 0 THEN date '2024-01-01' + pg_temp.roll('disposed on', i, 720) END FROM generate_series(1, 150) i;

INSERT INTO fin.gl_acct (acct_no, acct_nm, acct_typ) VALUES ('1000', 'Cash', 'A'), ('1200', 'Trade Receivables', 'A'), ('1400', 'Inventory', 'A'), ('2000', 'Trade Payables', 'L'), ('2400', 'Accrued Taxes', 'L'), ('4000', 'Product Sales', 'R'), ('4100', 'Service Revenue', 'R'),
  ('5000', 'Cost of Materials', 'E'), ('6000', 'Wages', 'E'), ('6300', 'Travel Expenses', 'E'), ('6400', 'Energy', 'E'), ('6500', 'Consulting Fees', 'E');
INSERT INTO fin.gl_jrnl_hdr (jrnl_id, pstg_dt, doc_typ, crt_by) SELECT i, date '2024-01-02' + i * 728 / 400, pg_temp.choose('doc', i, '{SA,KR,DR,ZP}'), pg_temp.choose('posted by', i, '{jlange,mnowak,froux,batch}') FROM generate_series(1, 400) i;
INSERT INTO fin.gl_jrnl_ln (jrnl_id, ln_no, acct_no, cst_ctr_cd, dr_amt, cr_amt)
SELECT i, n, CASE n WHEN 1 THEN a.debit ELSE a.credit END, CASE WHEN CASE n WHEN 1 THEN a.debit ELSE a.credit END >= '5000' THEN pg_temp.choose('posted to', i, '{1000,1100,2000,4000,5000,7000}') END, CASE n WHEN 1 THEN v ELSE 0 END, CASE n WHEN 2 THEN v ELSE 0 END
FROM generate_series(1, 400) i, generate_series(1, 2) n, LATERAL (SELECT 100 + pg_temp.roll('posted amount', i, 900000) / 100.0 AS v) x,
  LATERAL (SELECT (ARRAY['1200', '1200', '5000', '6000', '6300', '6400', '6500', '1000'])[k] AS debit, (ARRAY['4000', '4100', '2000', '1000', '1000', '2000', '2000', '1200'])[k] AS credit FROM (SELECT 1 + pg_temp.roll('posting', i, 8) AS k) y) a;
INSERT INTO fin.ar_inv (inv_id, inv_no, cust_id, inv_dt, due_dt, inv_amt, opn_amt, dun_lvl)
SELECT row_number() OVER (ORDER BY o.id), 'RE-' || 61000 + o.id, o.customer_id, o.requested_date, o.requested_date + 30, l.amount, CASE pg_temp.roll('still open', o.id, 6) WHEN 0 THEN l.amount WHEN 1 THEN round(l.amount / 2, 2) ELSE 0 END,
  CASE WHEN pg_temp.roll('still open', o.id, 6) <= 1 AND o.requested_date < '2025-11-01' THEN 1 + pg_temp.roll('dunned', o.id, 3) ELSE 0 END
FROM sales.sales_order o JOIN (SELECT order_id, round(sum(quantity * unit_price * (100 - discount_percent) / 100), 2) AS amount FROM sales.sales_order_line GROUP BY 1) l ON l.order_id = o.id WHERE o.status = 'invoiced';
INSERT INTO fin.ap_inv (inv_id, spl_id, spl_inv_no, inv_dt, due_dt, inv_amt, pd_dt)
SELECT row_number() OVER (ORDER BY o.id), o.supplier_id, 'X' || 4711 + o.id * 3, o.received_on + 2, o.received_on + 2 + s.payment_terms_days, l.amount, CASE WHEN pg_temp.roll('paid', o.id, 8) > 0 THEN o.received_on + s.payment_terms_days - 10 + pg_temp.roll('paid on', o.id, 25) END
FROM procurement.purchase_order o JOIN procurement.supplier s ON s.id = o.supplier_id JOIN (SELECT purchase_order_id, sum(quantity * price) AS amount FROM procurement.purchase_order_line GROUP BY 1) l ON l.purchase_order_id = o.id WHERE o.status = 'received';

INSERT INTO payroll.slry_slip (slip_id, emp_id, prd, grs_amt, net_amt, ot_hrs)
SELECT row_number() OVER (ORDER BY m, e.id), e.id, to_char(m, 'YYYY-MM'), g, round(g * 0.63, 2), CASE WHEN pg_temp.roll('overtime', e.id * 20 + extract(month FROM m)::integer, 3) = 0 THEN pg_temp.roll('overtime hours', e.id * 20 + extract(month FROM m)::integer, 40) / 2.0 ELSE 0 END
FROM hr.employee e, generate_series(timestamp '2025-07-01', '2025-12-01', '1 month') m, LATERAL (SELECT (2200 + 25 * pg_temp.roll('gross', e.id, 160) + CASE WHEN e.id <= 10 THEN 3000 ELSE 0 END)::numeric(10,2) AS g) x
WHERE e.hired_on < m AND coalesce(e.left_on, '2099-01-01') > m;

INSERT INTO plant.ene_meter (id, meter_number, site_id, medium)
SELECT 4 * (s - 1) + k, 'EM-' || 100 * s + k, s, (ARRAY['electricity', 'gas', 'water', 'steam'])[k] FROM generate_series(1, 6) s, generate_series(1, 4) k;
INSERT INTO plant.ene_meter_reading (meter_id, month, consumption)
SELECT i, m::date, 2000 + pg_temp.roll('consumed', i * 100 + extract(year FROM m)::integer % 10 * 20 + extract(month FROM m)::integer, 60000) FROM generate_series(1, 24) i, generate_series(timestamp '2024-01-01', '2025-12-01', '1 month') m;

DROP FUNCTION pg_temp.choose, pg_temp.roll;
ANALYZE;
