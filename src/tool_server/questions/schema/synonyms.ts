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
