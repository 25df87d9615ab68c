-- The hospital's rows. They come from a hash of what they are for and their number, so they are the same with every
-- version of PostgreSQL. The data ends with the year 2025.

CREATE FUNCTION pg_temp.roll(purpose text, number integer, sides integer) RETURNS integer
IMMUTABLE LANGUAGE sql AS $$ SELECT ('x' || left(md5(purpose || number), 7))::bit(28)::integer % sides $$;

CREATE FUNCTION pg_temp.choose(purpose text, number integer, choices text[]) RETURNS text
IMMUTABLE LANGUAGE sql AS $$ SELECT choices[1 + pg_temp.roll(purpose, number, cardinality(choices))] $$;

INSERT INTO clinical.departments VALUES
  (1, NULL, 'Medicine', 'CC-100'), (2, NULL, 'Surgery', 'CC-200'), (3, NULL, 'Women and Children', 'CC-300'),
  (4, NULL, 'Diagnostics', 'CC-400'), (5, NULL, 'Emergency', 'CC-500'),
  (6, 1, 'Cardiology', 'CC-110'), (7, 1, 'Oncology', 'CC-120'), (8, 1, 'Neurology', 'CC-130'),
  (9, 1, 'Pulmonology', 'CC-140'), (10, 2, 'Orthopedics', 'CC-210'), (11, 2, 'General Surgery', 'CC-220'),
  (12, 3, 'Pediatrics', 'CC-310'), (13, 3, 'Maternity', 'CC-320'), (14, 4, 'Radiology', 'CC-410'),
  (15, 4, 'Pathology', 'CC-420');

INSERT INTO clinical.specialties VALUES
  ('CAR', 'Cardiology'), ('ONC', 'Oncology'), ('NEU', 'Neurology'), ('PUL', 'Pulmonology'), ('ORT', 'Orthopedics'),
  ('GSU', 'General Surgery'), ('PED', 'Pediatrics'), ('OBG', 'Obstetrics and Gynecology'), ('RAD', 'Radiology'),
  ('PAT', 'Pathology'), ('EMM', 'Emergency Medicine'), ('GER', 'Geriatrics'), ('PAL', 'Palliative Care');

INSERT INTO clinical.practitioners
SELECT i,
  pg_temp.choose('practitioner family', i, '{Almeida,Baptista,Carvalho,Duarte,Esteves,Fonseca,Gomes,Henriques,Lopes,Matos,Nogueira,Okafor,Pires,Quintela,Rocha,Silva,Teixeira,Vaz,Weber,Zhou}'),
  pg_temp.choose('practitioner given', i, '{Ana,Bruno,Catarina,Diogo,Eva,Filipe,Helena,Ivo,Joana,Kofi,Laura,Miguel,Nadia,Oscar,Paula,Rui,Sofia,Tiago}'),
  CASE WHEN i <= 40 THEN pg_temp.choose('role', i, '{physician,physician,surgeon}')
       ELSE pg_temp.choose('role', i, '{nurse,nurse,nurse,nurse,physician,surgeon,therapist,pharmacist}') END,
  1 + (i - 1) % 15,
  CASE WHEN i > 15 THEN 1 + (i - 1) % 15 END,
  'LIC-' || 40000 + i * 37,
  date '2005-02-01' + pg_temp.roll('hired', i, 7300),
  CASE WHEN i > 20 AND pg_temp.roll('left', i, 10) = 0 THEN date '2025-02-28' + pg_temp.roll('left on', i, 300) END
FROM generate_series(1, 120) i;

INSERT INTO clinical.practitioner_specialties
SELECT p.id, s.code, pg_temp.roll('board', p.id * 20 + s.n::integer, 3) > 0
FROM clinical.practitioners p,
  LATERAL (SELECT code, row_number() OVER (ORDER BY code) AS n FROM clinical.specialties) s
WHERE p.role IN ('physician', 'surgeon')
  AND (s.n = 1 + pg_temp.roll('specialty', p.id, 13) OR pg_temp.roll('more', p.id * 20 + s.n::integer, 15) = 0);

INSERT INTO clinical.patients
SELECT i, 'MRN' || 700000 + i * 13,
  pg_temp.choose('patient family', i, '{Abreu,Barros,Costa,Dias,Ferreira,Garcia,Haddad,Ivanov,Jesus,Kumar,Lima,Martins,Neves,Oliveira,Pereira,Quental,Ramos,Santos,Tavares,Underwood,Vieira,Wagner}'),
  pg_temp.choose('patient given', i, '{Alice,Beatriz,Carlos,David,Elisa,Francisco,Gloria,Hugo,Ines,Jorge,Katia,Luis,Maria,Nuno,Olga,Pedro,Rita,Samuel,Teresa,Vasco}'),
  CASE WHEN pg_temp.roll('sex', i, 50) = 0 THEN 'other' WHEN pg_temp.roll('sex', i, 2) = 0 THEN 'female' ELSE 'male' END::clinical.sex,
  date '1932-01-01' + pg_temp.roll('birth', i, 33500),
  pg_temp.choose('city', i, '{Lisbon,Lisbon,Lisbon,Porto,Porto,Braga,Coimbra,Faro,Setúbal,Évora}'),
  1000 + pg_temp.roll('postal', i, 8000) || '-' || 100 + pg_temp.roll('postal end', i, 900),
  CASE WHEN pg_temp.roll('has physician', i, 6) > 0 THEN 1 + pg_temp.roll('physician', i, 40) END,
  date '2021-01-04' + pg_temp.roll('registered', i, 1800),
  CASE WHEN pg_temp.roll('dead', i, 40) = 0 THEN date '2025-01-10' + pg_temp.roll('died', i, 350) END
FROM generate_series(1, 600) i;

INSERT INTO clinical.patient_contacts
SELECT i, n, pg_temp.choose('relation', i * 3 + n, '{spouse,parent,child,sibling,friend,guardian}'),
  pg_temp.choose('contact', i * 3 + n, '{Amelia,Bento,Clara,Duarte,Emilia,Gil,Lia,Mario}') || ' ' ||
    (SELECT family_name FROM clinical.patients WHERE id = i),
  '+351 9' || 10000000 + pg_temp.roll('phone', i * 3 + n, 89999999), n = 1 AND pg_temp.roll('emergency', i, 5) > 0
FROM generate_series(1, 600) i, generate_series(1, 2) n
WHERE pg_temp.roll('contacts', i, 4) >= n;

INSERT INTO clinical.appointments
SELECT i, 1 + pg_temp.roll('a patient', i, 560), 1 + pg_temp.roll('a practitioner', i, 60),
  date '2024-06-03' + pg_temp.roll('a day', i, 600) + time '08:00' + pg_temp.roll('a slot', i, 40) * interval '15 minutes',
  pg_temp.choose('a minutes', i, '{15,30,30,45,60}')::smallint,
  CASE WHEN date '2024-06-03' + pg_temp.roll('a day', i, 600) > date '2025-12-31' THEN 'booked'
       ELSE pg_temp.choose('a state', i, '{completed,completed,completed,completed,completed,no_show,cancelled}')
  END::clinical.appointment_state,
  pg_temp.choose('a reason', i, '{check-up,back pain,follow-up,test results,vaccination,chest pain,headache}'),
  CASE WHEN i > 50 AND pg_temp.roll('moved', i, 12) = 0 THEN i - 50 END
FROM generate_series(1, 900) i;

INSERT INTO clinical.admissions
SELECT i, 1 + pg_temp.roll('adm patient', i, 500), 5 + pg_temp.roll('adm department', i, 9), 1 + pg_temp.roll('attending', i, 40),
  CASE WHEN i > 380 THEN timestamp '2025-12-20 06:00' + i % 20 * interval '13 hours'
       ELSE timestamp '2024-01-01 06:00' + pg_temp.roll('admitted', i, 17000) * interval '1 hour' END,
  CASE WHEN i <= 380 THEN timestamp '2024-01-01 10:00' + pg_temp.roll('admitted', i, 17000) * interval '1 hour'
    + (1 + pg_temp.roll('stay', i, 300)) * interval '1 hour' END,
  pg_temp.choose('source', i, '{emergency,emergency,planned,planned,planned,transfer}'),
  CASE WHEN i <= 380 THEN pg_temp.choose('disposition', i, '{home,home,home,home,home,rehab,rehab,nursing_home,died,against_advice}') END
FROM generate_series(1, 400) i;

INSERT INTO clinical.admissions_archive
SELECT i, 1 + pg_temp.roll('old patient', i, 400), 5 + pg_temp.roll('old department', i, 9), 1 + pg_temp.roll('old attending', i, 40),
  timestamp '2021-01-05 07:00' + pg_temp.roll('old admitted', i, 25000) * interval '1 hour',
  timestamp '2021-01-05 09:00' + (pg_temp.roll('old admitted', i, 25000) + pg_temp.roll('old stay', i, 340)) * interval '1 hour',
  pg_temp.choose('old source', i, '{emergency,planned,transfer}'),
  pg_temp.choose('old disposition', i, '{home,home,home,rehab,died}'), timestamp '2024-02-01 03:00'
FROM generate_series(90001, 90300) i;

INSERT INTO clinical.encounters
SELECT i, coalesce(a.patient_id, 1 + pg_temp.roll('e patient', i, 560)), 1 + pg_temp.roll('e practitioner', i, 60), a.id,
  CASE WHEN a.id IS NOT NULL THEN 'inpatient' ELSE pg_temp.choose('e kind', i, '{outpatient,outpatient,outpatient,emergency,telehealth}') END::clinical.encounter_kind,
  s.started_at, s.started_at + (10 + pg_temp.roll('e minutes', i, 80)) * interval '1 minute',
  CASE WHEN i > 100 AND pg_temp.roll('e follows', i, 9) = 0 THEN i - 100 END
FROM generate_series(1, 1200) i
LEFT JOIN clinical.admissions a ON a.id = i
CROSS JOIN LATERAL (SELECT coalesce(a.admitted_at + interval '40 minutes',
  timestamp '2024-01-02 08:00' + pg_temp.roll('e hour', i, 17400) * interval '1 hour') AS started_at) s;

INSERT INTO clinical.diagnosis_codes VALUES
  ('I10', 'Essential hypertension', 'Circulatory', true), ('I21.9', 'Acute myocardial infarction', 'Circulatory', false),
  ('I50.9', 'Heart failure', 'Circulatory', true), ('I48.9', 'Atrial fibrillation', 'Circulatory', true),
  ('E11.9', 'Type 2 diabetes mellitus', 'Endocrine', true), ('E10.9', 'Type 1 diabetes mellitus', 'Endocrine', true),
  ('E66.9', 'Obesity', 'Endocrine', true), ('J45.9', 'Asthma', 'Respiratory', true), ('J18.9', 'Pneumonia', 'Respiratory', false),
  ('J44.9', 'Chronic obstructive pulmonary disease', 'Respiratory', true), ('C50.9', 'Breast cancer', 'Neoplasms', true),
  ('C34.9', 'Lung cancer', 'Neoplasms', true), ('S72.0', 'Fracture of neck of femur', 'Injury', false),
  ('S06.0', 'Concussion', 'Injury', false), ('G43.9', 'Migraine', 'Nervous system', true),
  ('G40.9', 'Epilepsy', 'Nervous system', true), ('N39.0', 'Urinary tract infection', 'Genitourinary', false),
  ('K35.8', 'Acute appendicitis', 'Digestive', false), ('O80', 'Single spontaneous delivery', 'Pregnancy', false),
  ('Z00.0', 'General medical examination', 'Factors', false);

INSERT INTO clinical.encounter_diagnoses
SELECT encounter_id, icd, row_number() OVER (PARTITION BY encounter_id ORDER BY n)
FROM (
  SELECT DISTINCT ON (e.id, d.icd) e.id AS encounter_id, d.icd, n
  FROM clinical.encounters e
  CROSS JOIN generate_series(1, 2) n
  JOIN (SELECT icd, row_number() OVER (ORDER BY icd) AS place FROM clinical.diagnosis_codes) d
    ON d.place = 1 + pg_temp.roll('icd', e.id * 2 + n, 20)
  WHERE pg_temp.roll('coded', e.id, 20) > n
  ORDER BY e.id, d.icd, n
) coded;

INSERT INTO clinical.medications
SELECT i, m[1], m[2], m[3], m[4] = 'yes'
FROM (SELECT row_number() OVER ()::integer AS i, string_to_array(line, '|') AS m FROM unnest(ARRAY[
  'Metformin|A10BA02|tablet|no', 'Insulin glargine|A10AE04|injection|no', 'Amlodipine|C08CA01|tablet|no',
  'Lisinopril|C09AA03|tablet|no', 'Atorvastatin|C10AA05|tablet|no', 'Warfarin|B01AA03|tablet|no',
  'Salbutamol|R03AC02|inhaler|no', 'Amoxicillin|J01CA04|capsule|no', 'Ibuprofen|M01AE01|tablet|no',
  'Paracetamol|N02BE01|tablet|no', 'Morphine|N02AA01|injection|yes', 'Oxycodone|N02AA05|tablet|yes',
  'Fentanyl|N02AB03|injection|yes', 'Omeprazole|A02BC01|capsule|no', 'Hydrocortisone|D07AA02|cream|no',
  'Levetiracetam|N03AX14|tablet|no', 'Prednisolone|H02AB06|tablet|no', 'Diazepam|N05BA01|tablet|yes']) line) lines;

INSERT INTO clinical.prescriptions
SELECT i, e.id, 1 + pg_temp.roll('drug', i, 18), 5 * (1 + pg_temp.roll('dose', i, 100)), 1 + pg_temp.roll('times', i, 4),
  e.started_at::date, CASE WHEN pg_temp.roll('ends', i, 4) > 0 THEN e.started_at::date + 5 + pg_temp.roll('days', i, 80) END,
  CASE WHEN pg_temp.roll('stopped', i, 9) = 0 THEN pg_temp.choose('because', i, '{side effects,no effect,patient refused,interaction}') END
FROM generate_series(1, 1000) i JOIN clinical.encounters e ON e.id = 1 + pg_temp.roll('prescribed', i, 1200);

INSERT INTO clinical.allergies
SELECT DISTINCT ON (1, 2) 1 + pg_temp.roll('allergic', i, 600), pg_temp.choose('substance', i, '{Penicillin,Penicillin,Latex,Peanuts,Iodine contrast,Aspirin,Bee venom}'),
  pg_temp.choose('severity', i, '{mild,moderate,severe}'), date '2021-03-01' + pg_temp.roll('noted', i, 1700)
FROM generate_series(1, 260) i ORDER BY 1, 2, i;

INSERT INTO clinical.vital_signs
SELECT e.id, e.started_at + interval '5 minutes', 95 + pg_temp.roll('systolic', e.id, 95), 55 + pg_temp.roll('diastolic', e.id, 55),
  48 + pg_temp.roll('pulse', e.id, 80), (358 + pg_temp.roll('temperature', e.id, 42)) / 10.0, 86 + pg_temp.roll('oxygen', e.id, 15)
FROM clinical.encounters e WHERE e.kind <> 'telehealth';

INSERT INTO lab.test_types VALUES
  ('HBA1C', 'Hemoglobin A1c', '%', 'blood', 18.50), ('GLU', 'Glucose, fasting', 'mg/dL', 'blood', 6.20),
  ('CREA', 'Creatinine', 'mg/dL', 'blood', 7.10), ('HGB', 'Hemoglobin', 'g/dL', 'blood', 5.90),
  ('WBC', 'White blood cell count', '10^9/L', 'blood', 8.00), ('CRP', 'C-reactive protein', 'mg/L', 'blood', 11.40),
  ('TROP', 'Troponin T', 'ng/L', 'blood', 32.00), ('K', 'Potassium', 'mmol/L', 'blood', 4.80),
  ('UCULT', 'Urine culture', 'CFU/mL', 'urine', 24.00), ('PCRFLU', 'Influenza PCR', 'Ct', 'swab', 65.00),
  ('BIOP', 'Tissue biopsy score', 'points', 'tissue', 140.00), ('TSH', 'Thyroid-stimulating hormone', 'mIU/L', 'blood', 14.30);

INSERT INTO lab.reference_ranges
SELECT code, sex, age, 2 + pg_temp.roll('low' || code, age, 8), 30 + pg_temp.roll('high' || code || sex, age, 30)
FROM lab.test_types, unnest('{female,male}'::clinical.sex[]) sex, unnest('{0,18,65}'::integer[]) age;

INSERT INTO lab.analyzers VALUES
  (1, 'Cobas 6000', 'C6-11873', '2018-05-14', '2025-11-03'), (2, 'Cobas 8000', 'C8-20944', '2021-09-01', '2025-12-10'),
  (3, 'Sysmex XN', 'XN-55120', '2019-02-20', '2025-06-30'), (4, 'GeneXpert', 'GX-00871', '2020-10-12', '2025-09-15'),
  (5, 'Architect i2000', 'AR-77013', '2014-03-03', '2024-12-01');

INSERT INTO lab.orders
SELECT i, e.id, (SELECT code FROM lab.test_types ORDER BY code OFFSET pg_temp.roll('test', i, 12) LIMIT 1),
  pg_temp.choose('priority', i, '{routine,routine,routine,urgent,stat}'), e.started_at + pg_temp.roll('asked', i, 30) * interval '1 minute',
  pg_temp.choose('lab status', i, '{resulted,resulted,resulted,resulted,resulted,resulted,resulted,ordered,collected,cancelled}')
FROM generate_series(1, 900) i JOIN clinical.encounters e ON e.id = 1 + pg_temp.roll('tested', i, 1100);

INSERT INTO lab.results
SELECT o.id, 1 + pg_temp.roll('analyzer', o.id, 4), pg_temp.roll('lab value', o.id, 6000) / 100.0,
  CASE pg_temp.roll('lab value', o.id, 6000) / 1000 WHEN 0 THEN 'L' WHEN 5 THEN 'H' END,
  o.ordered_at + (20 + pg_temp.roll('lab minutes', o.id, CASE o.priority WHEN 'stat' THEN 60 WHEN 'urgent' THEN 300 ELSE 2400 END)) * interval '1 minute',
  CASE WHEN pg_temp.roll('verified', o.id, 8) > 0 THEN 1 + pg_temp.roll('verifier', o.id, 40) END
FROM lab.orders o WHERE o.status = 'resulted';

INSERT INTO facility.wards VALUES
  (1, 'A1 Heart Center', 'North', 1, 6), (2, 'A2 Cancer Care', 'North', 2, 7), (3, 'A3 Stroke Unit', 'North', 3, 8),
  (4, 'B1 Lung Ward', 'South', 1, 9), (5, 'B2 Bones and Joints', 'South', 2, 10), (6, 'B3 Surgical Ward', 'South', 3, 11),
  (7, 'C1 Children', 'Garden', 1, 12), (8, 'C2 Birth', 'Garden', 2, 13), (9, 'E0 Short Stay', 'Tower', 0, 5), (10, 'E1 ICU', 'Tower', 1, 5);

INSERT INTO facility.rooms
SELECT w, w || to_char(n, 'FM00'), CASE WHEN w = 10 THEN 'intensive' ELSE pg_temp.choose('room', w * 20 + n, '{single,double,double,shared,isolation}') END
FROM generate_series(1, 10) w, generate_series(1, 8) n;

INSERT INTO facility.beds
SELECT row_number() OVER (ORDER BY ward_id, room_no, label), ward_id, room_no, label, NULL,
  pg_temp.roll('broken bed', (row_number() OVER (ORDER BY ward_id, room_no, label))::integer, 15) = 0
FROM facility.rooms r, unnest(CASE kind WHEN 'double' THEN '{A,B}'::text[] WHEN 'shared' THEN '{A,B,C,D}' ELSE '{A}' END) label;

UPDATE facility.beds b SET admission_id = a.id
FROM (SELECT id, row_number() OVER (ORDER BY id) AS n FROM clinical.admissions WHERE discharged_at IS NULL) a
JOIN (SELECT id, row_number() OVER (ORDER BY md5(id::text)) AS n FROM facility.beds WHERE NOT out_of_service) f USING (n)
WHERE b.id = f.id;

INSERT INTO facility.equipment
SELECT i, (ARRAY['MRI scanner', 'CT scanner', 'X-ray unit', 'Ultrasound', 'Patient monitor', 'ECG recorder', 'Ventilator', 'Surgical robot', 'Electrosurgery unit', 'Wheelchair', 'Stretcher'])[1 + i % 11],
  (ARRAY['imaging', 'imaging', 'imaging', 'imaging', 'monitoring', 'monitoring', 'monitoring', 'surgical', 'surgical', 'transport', 'transport'])[1 + i % 11],
  CASE WHEN pg_temp.roll('where', i, 5) > 0 THEN 1 + pg_temp.roll('ward', i, 10) END, date '2012-01-01' + pg_temp.roll('bought', i, 4900),
  CASE i % 11 WHEN 0 THEN 900000 WHEN 1 THEN 520000 WHEN 7 THEN 1350000 ELSE 800 END + 173 * pg_temp.roll('price', i, 200)
FROM generate_series(1, 110) i;

INSERT INTO facility.maintenance_jobs
SELECT i, 1 + pg_temp.roll('repaired', i, 95), s, CASE WHEN i % 11 > 0 THEN s + (2 + pg_temp.roll('hours', i, 400)) * interval '1 hour' END,
  CASE WHEN i % 11 > 0 THEN 40 + pg_temp.roll('repair cost', i, 9000) END, pg_temp.choose('contractor', i, '{MedServ,Siemens,TecnoFix,in-house}')
FROM generate_series(1, 260) i, LATERAL (SELECT timestamp '2024-01-03 09:00' + pg_temp.roll('reported', i, 17300) * interval '1 hour' AS s) x;

INSERT INTO billing.insurers VALUES
  (1, 'National Health Service', 'public'), (2, 'Fidelidade', 'private'), (3, 'Médis', 'private'), (4, 'Multicare', 'private'), (5, 'ADSE', 'public');

INSERT INTO billing.plans
SELECT 3 * (i.id - 1) + p.n, i.id, p.name, p.copay FROM billing.insurers i,
  (VALUES (1, 'Basic', 20.0), (2, 'Plus', 10.0), (3, 'Premium', 0.0)) p (n, name, copay);

INSERT INTO billing.coverages
SELECT i, 1 + pg_temp.roll('plan', i, 15), date '2022-01-01', CASE WHEN pg_temp.roll('ended', i, 5) = 0 THEN date '2025-06-30' END, 'M' || 500000 + i
FROM generate_series(1, 600) i WHERE pg_temp.roll('insured', i, 8) > 0;
INSERT INTO billing.coverages
SELECT patient_id, 1 + plan_id % 15, date '2025-07-01', NULL, member_no || '-2' FROM billing.coverages WHERE valid_to IS NOT NULL AND patient_id % 2 = 0;

INSERT INTO billing.invoices
SELECT i, 'INV-' || to_char(e.started_at, 'YYYY') || '-' || to_char(i, 'FM00000'), e.patient_id, e.id, e.ended_at::date + 3, e.ended_at::date + 33,
  pg_temp.roll('cancelled', i, 30) = 0
FROM generate_series(1, 800) i JOIN clinical.encounters e ON e.id = i;

INSERT INTO billing.invoice_lines
SELECT i, n, (ARRAY['Consultation', 'Laboratory tests', 'Medication', 'Room and board', 'Minor procedure'])[k],
  (ARRAY['consultation', 'lab', 'drug', 'room', 'procedure'])[k], 1 + pg_temp.roll('quantity', i * 4 + n, 3),
  (ARRAY[60, 22, 14, 180, 240])[k] + pg_temp.roll('line price', i * 4 + n, 3500) / 100.0
FROM generate_series(1, 800) i, generate_series(1, 3) n, LATERAL (SELECT CASE WHEN n = 1 THEN 1 ELSE 1 + pg_temp.roll('line kind', i * 4 + n, 5) END AS k) x
WHERE pg_temp.roll('line count', i, 3) + 1 >= n;

INSERT INTO billing.payments
SELECT row_number() OVER (ORDER BY i.id), i.id, i.issued_on + 2 + pg_temp.roll('paid after', i.id, 60),
  CASE WHEN pg_temp.roll('in part', i.id, 6) = 0 THEN round(l.total / 2, 2) ELSE l.total END, pg_temp.choose('method', i.id, '{card,transfer,cash,insurer,insurer}')
FROM billing.invoices i JOIN (SELECT invoice_id, sum(quantity * unit_price) AS total FROM billing.invoice_lines GROUP BY 1) l ON l.invoice_id = i.id
WHERE NOT i.cancelled AND pg_temp.roll('paid', i.id, 5) > 0;

INSERT INTO billing.claims
SELECT row_number() OVER (ORDER BY i.id), i.id, c.plan_id, s.state,
  l.total, CASE WHEN s.state IN ('approved', 'paid') THEN round(l.total * (60 + pg_temp.roll('share', i.id, 41)) / 100, 2) END,
  CASE WHEN s.state <> 'draft' THEN i.issued_on + 5 END,
  CASE WHEN s.state IN ('approved', 'denied', 'paid') THEN i.issued_on + 10 + pg_temp.roll('decided', i.id, 40) END,
  CASE WHEN s.state = 'denied' THEN pg_temp.choose('denied', i.id, '{not covered,missing documents,no prior authorization,duplicate}') END
FROM billing.invoices i
JOIN (SELECT invoice_id, sum(quantity * unit_price) AS total FROM billing.invoice_lines GROUP BY 1) l ON l.invoice_id = i.id
JOIN billing.coverages c ON c.patient_id = i.patient_id AND i.issued_on BETWEEN c.valid_from AND coalesce(c.valid_to, date '2099-12-31')
CROSS JOIN LATERAL (SELECT pg_temp.choose('claim', i.id, '{draft,submitted,approved,approved,denied,paid,paid,paid}')::billing.claim_state AS state) s
WHERE NOT i.cancelled AND pg_temp.roll('claimed', i.id, 3) > 0;

INSERT INTO legacy_hr.dept_cd VALUES
  ('ADM1', 'Administration', 3), ('FIN1', 'Finance', 8), ('KIT1', 'Kitchen', 12), ('CLN1', 'Cleaning', 19), ('ITS1', 'Information Technology', 21),
  ('TRN1', 'Patient Transport', 30), ('NUR1', 'Nursing Support', 41), ('SEC1', 'Security', NULL);

INSERT INTO legacy_hr.emp_mst
SELECT i, pg_temp.choose('e given', i, '{Adelia,Boris,Celeste,Dario,Edite,Fatima,Gaspar,Hilda,Isaac,Julia,Leandro,Marta}') || ' ' ||
    pg_temp.choose('e family', i, '{Antunes,Borges,Cardoso,Domingues,Faria,Guerra,Leite,Mendes,Paiva,Queiroz,Sampaio,Torres}'),
  (ARRAY['ADM1', 'FIN1', 'KIT1', 'CLN1', 'ITS1', 'TRN1', 'NUR1'])[k], (ARRAY['AD', 'AD', 'KT', 'CL', 'IT', 'TR', 'NU'])[k],
  date '2001-03-01' + pg_temp.roll('e hired', i, 8700), CASE WHEN i > 50 AND pg_temp.roll('e gone', i, 8) = 0 THEN date '2025-01-31' + pg_temp.roll('e end', i, 300) END,
  1050 + pg_temp.roll('salary', i, 260) * 10 + CASE WHEN i <= 10 THEN 1500 ELSE 0 END, (ARRAY[100, 100, 100, 80, 50])[1 + pg_temp.roll('fte', i, 5)],
  CASE WHEN i > 10 THEN 1 + pg_temp.roll('boss', i, LEAST(i - 1, 40)) WHEN i > 1 THEN 1 END
FROM generate_series(1, 220) i, LATERAL (SELECT 1 + pg_temp.roll('e dept', i, 7) AS k) x;

INSERT INTO legacy_hr.shft_asgn
SELECT DISTINCT ON (1, 2) 1 + pg_temp.roll('s emp', i, 220), date '2025-11-01' + pg_temp.roll('s day', i, 61), pg_temp.choose('s type', i, '{E,E,L,N}'),
  CASE WHEN pg_temp.roll('s over', i, 3) = 0 THEN (1 + pg_temp.roll('s hours', i, 8)) / 2.0 ELSE 0 END
FROM generate_series(1, 1000) i ORDER BY 1, 2, i;

INSERT INTO legacy_hr.lv_req
SELECT i, 1 + pg_temp.roll('l emp', i, 220), pg_temp.choose('l type', i, '{AL,AL,AL,SL,SL,PL}'), s, s + pg_temp.roll('l days', i, 15), pg_temp.choose('l ok', i, '{Y,Y,Y,Y,N,P}')
FROM generate_series(1, 300) i, LATERAL (SELECT date '2025-01-02' + pg_temp.roll('l start', i, 350) AS s) x;

INSERT INTO portal."userAccount"
SELECT i, i, 'patient' || i || '@mail.example', timestamp '2022-05-01 12:00' + pg_temp.roll('account', i, 1300) * interval '1 day',
  CASE WHEN pg_temp.roll('logged in', i, 5) > 0 THEN timestamp '2025-12-31 20:00' - pg_temp.roll('last login', i, 9000) * interval '1 hour' END,
  pg_temp.roll('2fa', i, 3) = 0
FROM generate_series(1, 600) i WHERE pg_temp.roll('portal', i, 3) > 0;

INSERT INTO portal."secureMessage"
SELECT row_number() OVER (ORDER BY n, a."accountId"), a."accountId", 1 + pg_temp.roll('m doctor', a."accountId" * 3 + n, 40), NULL,
  pg_temp.roll('m by', a."accountId" * 3 + n, 3) > 0, s, CASE WHEN pg_temp.roll('m read', a."accountId" * 3 + n, 4) > 0 THEN s + interval '5 hours' END,
  pg_temp.choose('m subject', a."accountId" * 3 + n, '{Prescription renewal,Test results,New appointment,Invoice question,Side effects}')
FROM portal."userAccount" a, generate_series(1, 2) n,
  LATERAL (SELECT timestamp '2025-01-01 07:30' + pg_temp.roll('m sent', a."accountId" * 3 + n, 8700) * interval '1 hour' AS s) x
WHERE pg_temp.roll('m any', a."accountId", 4) >= n;
UPDATE portal."secureMessage" SET "inReplyTo" = "messageId" - 40 WHERE "messageId" > 60 AND "messageId" % 5 = 0;

INSERT INTO audit.record_access
SELECT i, 1 + pg_temp.roll('who', i, 120), 1 + pg_temp.roll('whose', i, 600), timestamp '2025-10-01 00:00' + pg_temp.roll('when', i, 132000) * interval '1 minute',
  pg_temp.choose('what', i, '{view,view,view,view,edit,edit,print,export}'), pg_temp.roll('glass', i, 25) = 0
FROM generate_series(1, 1200) i;

DROP FUNCTION pg_temp.choose, pg_temp.roll;
ANALYZE;
