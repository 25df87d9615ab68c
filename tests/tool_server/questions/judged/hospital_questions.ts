import type { QuestionText } from "./question.ts";

/** About the hospital. Its data ends with the year 2025, so every span of time names its year. */
export const hospitalQuestions: readonly QuestionText[] = [
  {
    id: "hospital_patients_lisbon",
    question: "How many patients from Lisbon are registered?",
    sql: "SELECT count(*) FROM clinical.patients WHERE city = 'Lisbon'",
    tables: ["clinical.patients"],
    tags: ["value"],
  },
  {
    id: "hospital_inpatients",
    question: "Who is lying in the hospital at the moment? Patient and department",
    sql: "SELECT patient_name, department FROM clinical.current_inpatients",
    tables: ["clinical.current_inpatients"],
    otherTables: [["clinical.admissions", "clinical.patients", "clinical.departments"]],
    tags: ["view"],
  },
  {
    id: "hospital_inpatients_cardiology",
    question: "only the ones in cardiology, longest stay first",
    sql: `SELECT patient_name, department FROM clinical.current_inpatients
WHERE department = 'Cardiology' ORDER BY admitted_at`,
    ordered: true,
    tables: ["clinical.current_inpatients"],
    otherTables: [["clinical.admissions", "clinical.patients", "clinical.departments"]],
    tags: ["view", "value"],
    after: ["hospital_inpatients"],
  },
  {
    id: "hospital_penicillin",
    question: "first and last name of patients with a severe penicillin allergy",
    sql:
      `SELECT p.given_name, p.family_name FROM clinical.allergies a JOIN clinical.patients p ON p.id = a.patient_id
WHERE a.substance = 'Penicillin' AND a.severity = 'severe'`,
    tables: ["clinical.allergies", "clinical.patients"],
    tags: ["value"],
  },
  {
    id: "hospital_diabetics_2025",
    question: "How many different people were diagnosed with type 2 diabetes in 2025?",
    sql: `SELECT count(DISTINCT e.patient_id) FROM clinical.encounter_diagnoses d
JOIN clinical.encounters e ON e.id = d.encounter_id JOIN clinical.diagnosis_codes c ON c.icd = d.icd
WHERE c.description = 'Type 2 diabetes mellitus' AND e.started_at >= '2025-01-01' AND e.started_at < '2026-01-01'`,
    tables: ["clinical.encounter_diagnoses", "clinical.encounters", "clinical.diagnosis_codes"],
    tags: ["value", "time"],
  },
  {
    id: "hospital_stay_by_department",
    question: "average length of stay in days for each department for patients discharged in 2025",
    sql: `SELECT d.name, avg(extract(epoch FROM a.discharged_at - a.admitted_at) / 86400)
FROM clinical.admissions a JOIN clinical.departments d ON d.id = a.department_id
WHERE a.discharged_at >= '2025-01-01' AND a.discharged_at < '2026-01-01' GROUP BY d.id, d.name`,
    tables: ["clinical.admissions", "clinical.departments"],
    tags: ["time", "near_duplicate"],
  },
  {
    id: "hospital_stays_2022",
    question: "How many people were admitted through the emergency room in 2022?",
    sql: `SELECT count(DISTINCT patient_id) FROM clinical.admissions_archive
WHERE admission_source = 'emergency' AND admitted_at >= '2022-01-01' AND admitted_at < '2023-01-01'`,
    tables: ["clinical.admissions_archive"],
    tags: ["time", "value", "near_duplicate"],
  },
  {
    id: "hospital_no_show_rate",
    question: "In 2025, what percentage of appointments did patients simply not turn up for?",
    sql: `SELECT 100 * avg((state = 'no_show')::integer) FROM clinical.appointments
WHERE starts_at >= '2025-01-01' AND starts_at < '2026-01-01'`,
    tables: ["clinical.appointments"],
    tags: ["ratio", "time", "hard"],
  },
  {
    id: "hospital_busiest_doctor",
    question: "Which doctor saw the most different patients in 2025? First name, last name",
    sql: `SELECT p.given_name, p.family_name
FROM clinical.encounters e JOIN clinical.practitioners p ON p.id = e.practitioner_id
WHERE p.role IN ('physician', 'surgeon') AND e.started_at >= '2025-01-01' AND e.started_at < '2026-01-01'
GROUP BY p.id ORDER BY count(DISTINCT e.patient_id) DESC FETCH FIRST ROW WITH TIES`,
    tables: ["clinical.encounters", "clinical.practitioners"],
    tags: ["superlative", "time"],
  },
  {
    id: "hospital_free_icu_beds",
    question: "are there any free beds in the ICU? give me room and bed",
    sql: `SELECT b.room_no, b.label FROM facility.beds b JOIN facility.wards w ON w.id = b.ward_id
WHERE w.name = 'E1 ICU' AND b.admission_id IS NULL AND NOT b.out_of_service`,
    tables: ["facility.beds", "facility.wards"],
    tags: ["value"],
  },
  {
    id: "hospital_occupancy",
    question: "Bed occupancy per ward in percent, without the broken ones",
    sql: `SELECT w.name, 100.0 * count(b.admission_id) / count(*) FROM facility.beds b
JOIN facility.wards w ON w.id = b.ward_id WHERE NOT b.out_of_service GROUP BY w.id, w.name`,
    tables: ["facility.beds", "facility.wards"],
    tags: ["ratio", "hard"],
  },
  {
    id: "hospital_no_emergency_contact",
    question: "How many patients have no emergency contact on file?",
    sql: `SELECT count(*) FROM clinical.patients p WHERE NOT EXISTS (
  SELECT FROM clinical.patient_contacts c WHERE c.patient_id = p.id AND c.is_emergency)`,
    tables: ["clinical.patients", "clinical.patient_contacts"],
    tags: ["anti_join"],
  },
  {
    id: "hospital_opioids",
    question: "patients who were given a controlled substance by injection, medical record number and drug",
    sql: `SELECT DISTINCT p.mrn, m.name FROM clinical.prescriptions r
JOIN clinical.medications m ON m.id = r.medication_id JOIN clinical.encounters e ON e.id = r.encounter_id
JOIN clinical.patients p ON p.id = e.patient_id WHERE m.controlled AND m.form = 'injection'`,
    tables: ["clinical.prescriptions", "clinical.medications", "clinical.encounters", "clinical.patients"],
    tags: ["hard"],
  },
  {
    id: "hospital_side_effects",
    question: "Which medicines were stopped because of side effects and how often?",
    sql:
      `SELECT m.name, count(*) FROM clinical.prescriptions r JOIN clinical.medications m ON m.id = r.medication_id
WHERE r.stopped_because = 'side effects' GROUP BY m.id, m.name`,
    tables: ["clinical.prescriptions", "clinical.medications"],
    tags: ["value"],
  },
  {
    id: "hospital_stat_turnaround",
    question: "median turnaround time in minutes of stat lab tests vs urgent vs routine",
    sql:
      `SELECT o.priority, percentile_cont(0.5) WITHIN GROUP (ORDER BY extract(epoch FROM r.resulted_at - o.ordered_at) / 60)
FROM lab.orders o JOIN lab.results r ON r.order_id = o.id GROUP BY o.priority`,
    tables: ["lab.orders", "lab.results"],
    tags: ["time"],
  },
  {
    id: "hospital_high_potassium",
    question:
      "List first name, last name and value for every potassium result above normal, newest result first",
    sql: `SELECT p.given_name, p.family_name, r.value FROM lab.results r
JOIN lab.orders o ON o.id = r.order_id JOIN lab.test_types t ON t.code = o.test_code
JOIN clinical.encounters e ON e.id = o.encounter_id JOIN clinical.patients p ON p.id = e.patient_id
WHERE t.name = 'Potassium' AND r.flag = 'H' ORDER BY r.resulted_at DESC`,
    ordered: true,
    tables: ["lab.results", "lab.orders", "lab.test_types", "clinical.encounters", "clinical.patients"],
    tags: ["value", "hard"],
  },
  {
    id: "hospital_unverified_results",
    question: "how many blood test results has nobody signed off yet",
    sql: `SELECT count(*) FROM lab.results r JOIN lab.orders o ON o.id = r.order_id
JOIN lab.test_types t ON t.code = o.test_code WHERE t.specimen = 'blood' AND r.verified_by IS NULL`,
    tables: ["lab.results", "lab.orders", "lab.test_types"],
    tags: ["hard", "value"],
  },
  {
    id: "hospital_idle_analyzers",
    question: "Is there a lab machine that never produced a result? Model and serial number",
    sql: `SELECT a.model, a.serial_no FROM lab.analyzers a
WHERE NOT EXISTS (SELECT FROM lab.results r WHERE r.analyzer_id = a.id)`,
    tables: ["lab.analyzers", "lab.results"],
    tags: ["anti_join", "hard"],
  },
  {
    id: "hospital_overdue",
    question: "total amount of money still owed to us on invoices that were due before 1 October 2025",
    sql: "SELECT sum(balance) FROM billing.invoice_balances WHERE due_on < '2025-10-01' AND balance > 0",
    tables: ["billing.invoice_balances"],
    otherTables: [["billing.invoices", "billing.invoice_lines", "billing.payments"]],
    tags: ["view", "time"],
  },
  {
    id: "hospital_denials_by_insurer",
    question: "Denial rate of claims in percent by insurance company, only decided ones",
    sql: `SELECT i.name, 100 * avg((c.state = 'denied')::integer) FROM billing.claims c
JOIN billing.plans p ON p.id = c.plan_id JOIN billing.insurers i ON i.id = p.insurer_id
WHERE c.decided_on IS NOT NULL GROUP BY i.id, i.name`,
    tables: ["billing.claims", "billing.plans", "billing.insurers"],
    tags: ["ratio"],
  },
  {
    id: "hospital_uninsured",
    question: "number of patients without insurance on 31 December 2025",
    sql: `SELECT count(*) FROM clinical.patients p WHERE NOT EXISTS (
  SELECT FROM billing.coverages c WHERE c.patient_id = p.id
    AND c.valid_from <= '2025-12-31' AND coalesce(c.valid_to, '2025-12-31') >= '2025-12-31')`,
    tables: ["clinical.patients", "billing.coverages"],
    tags: ["anti_join", "time", "hard"],
  },
  {
    id: "hospital_revenue_by_service",
    question:
      "What did we invoice in 2025 for lab work, drugs, rooms and so on? One line per kind of service.",
    sql: `SELECT l.kind, sum(l.quantity * l.unit_price) FROM billing.invoice_lines l
JOIN billing.invoices i ON i.id = l.invoice_id
WHERE NOT i.cancelled AND i.issued_on BETWEEN '2025-01-01' AND '2025-12-31' GROUP BY l.kind`,
    tables: ["billing.invoice_lines", "billing.invoices"],
    tags: ["time"],
  },
  {
    id: "hospital_kitchen_salaries",
    question: "What does an employee in the kitchen earn on average? Only people who still work here",
    sql: `SELECT avg(e.sal_amt) FROM legacy_hr.emp_mst e JOIN legacy_hr.dept_cd d ON d.dept_cd = e.dept_cd
WHERE d.dept_nm = 'Kitchen' AND e.term_dt IS NULL`,
    tables: ["legacy_hr.emp_mst", "legacy_hr.dept_cd"],
    tags: ["hard", "value"],
  },
  {
    id: "hospital_earns_more_than_boss",
    question: "Which employees earn more than the person they report to?",
    sql: `SELECT e.emp_nm FROM legacy_hr.emp_mst e JOIN legacy_hr.emp_mst b ON b.emp_no = e.rpt_to_no
WHERE e.sal_amt > b.sal_amt`,
    tables: ["legacy_hr.emp_mst"],
    tags: ["self_join", "hard"],
  },
  {
    id: "hospital_overtime_night",
    question: "overtime hours on night shifts in December 2025 by department",
    sql: `SELECT d.dept_nm, sum(s.ot_hrs) FROM legacy_hr.shft_asgn s
JOIN legacy_hr.emp_mst e ON e.emp_no = s.emp_no JOIN legacy_hr.dept_cd d ON d.dept_cd = e.dept_cd
WHERE s.shft_typ = 'N' AND s.shft_dt BETWEEN '2025-12-01' AND '2025-12-31' GROUP BY d.dept_cd, d.dept_nm`,
    tables: ["legacy_hr.shft_asgn", "legacy_hr.emp_mst", "legacy_hr.dept_cd"],
    tags: ["hard", "time"],
  },
  {
    id: "hospital_sick_days",
    question: "Who called in sick in March 2025? Names please, approved requests only",
    sql: `SELECT DISTINCT e.emp_nm FROM legacy_hr.lv_req l JOIN legacy_hr.emp_mst e ON e.emp_no = l.emp_no
WHERE l.lv_typ = 'SL' AND l.appr_flg = 'Y' AND l.st_dt <= '2025-03-31' AND l.end_dt >= '2025-03-01'`,
    tables: ["legacy_hr.lv_req", "legacy_hr.emp_mst"],
    tags: ["hard", "time"],
  },
  {
    id: "hospital_unread_messages",
    question: "how many messages from patients about side effects has nobody opened?",
    sql: `SELECT count(*) FROM portal."secureMessage"
WHERE "sentByPatient" AND "subjectLine" = 'Side effects' AND "readAt" IS NULL`,
    tables: ["portal.secureMessage"],
    tags: ["value"],
  },
  {
    id: "hospital_two_factor_age",
    question: "How many portal users aged 65 or older on 2026-01-01 have two factor login switched on?",
    sql: `SELECT count(*) FROM portal."userAccount" a JOIN clinical.patients p ON p.id = a."patientId"
WHERE a."twoFactorEnabled" AND p.birth_date <= date '2026-01-01' - interval '65 years'`,
    tables: ["portal.userAccount", "clinical.patients"],
    tags: ["hard"],
  },
  {
    id: "hospital_snooping",
    question:
      "staff who opened records with break glass more than twice in the last quarter of 2025: first name, last name, how often",
    sql: `SELECT p.given_name, p.family_name, count(*) FROM audit.record_access a
JOIN clinical.practitioners p ON p.id = a.practitioner_id
WHERE a.break_glass AND a.accessed_at >= '2025-10-01' AND a.accessed_at < '2026-01-01'
GROUP BY p.id HAVING count(*) > 2`,
    tables: ["audit.record_access", "clinical.practitioners"],
    tags: ["time"],
  },
  {
    id: "hospital_surgeon_supervisors",
    question: "list each surgeon together with the supervisor, first and last names in columns of their own",
    sql: `SELECT s.given_name, s.family_name, b.given_name, b.family_name
FROM clinical.practitioners s JOIN clinical.practitioners b ON b.id = s.supervisor_id WHERE s.role = 'surgeon'`,
    tables: ["clinical.practitioners"],
    tags: ["self_join", "value"],
  },
  {
    id: "hospital_repairs_mri",
    question: "What did we pay for repairing MRI scaners in 2025?",
    sql:
      `SELECT sum(j.cost) FROM facility.maintenance_jobs j JOIN facility.equipment e ON e.id = j.equipment_id
WHERE e.name = 'MRI scanner' AND j.reported_at >= '2025-01-01' AND j.reported_at < '2026-01-01'`,
    tables: ["facility.maintenance_jobs", "facility.equipment"],
    tags: ["typo", "value", "time"],
  },
  {
    id: "hospital_certified_neurologists",
    question: "how many board certified neurologists do we employ today?",
    sql: `SELECT count(*) FROM clinical.practitioner_specialties ps
JOIN clinical.specialties s ON s.code = ps.specialty_code
JOIN clinical.practitioners p ON p.id = ps.practitioner_id
WHERE s.name = 'Neurology' AND ps.board_certified AND p.left_on IS NULL`,
    tables: [
      "clinical.practitioner_specialties",
      "clinical.specialties",
      "clinical.practitioners",
    ],
    tags: ["value", "hard"],
  },
  {
    id: "hospital_staff_total",
    question: "How many people work in each department?",
    expects: "question",
    tables: ["clinical.practitioners", "legacy_hr.emp_mst"],
    tags: ["near_duplicate"],
  },
  {
    id: "hospital_last_cancellations",
    question: "Show me the last cancellations",
    expects: "question",
    tables: ["clinical.appointments", "lab.orders", "billing.invoices"],
  },
];
