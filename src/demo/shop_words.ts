/** What the shop's rows are put together from. */

/** A department and its categories: name, description; whole euros, grams; nouns; materials. */
const catalog = `
Kitchen: For cooking, baking and the table
  Cookware: Pots and pans; 29-249 €, 800-5200 g
    Skillet, Saucepan, Dutch Oven, Wok; Cast Iron, Carbon Steel, Copper, Stainless Steel
  Knives: Kitchen knives and what keeps them sharp; 19-189 €, 60-420 g
    Chef's Knife, Paring Knife, Bread Knife, Whetstone; Damascus Steel, Carbon Steel, Ceramic
  Coffee & Tea: Grinders, brewers, pots and cups; 9-159 €, 120-1300 g
    Pour-Over Set, Hand Grinder, Teapot, Espresso Cup; Porcelain, Glass, Stainless Steel, Walnut
  Tableware: Plates, bowls and glasses; 7-89 €, 150-1900 g
    Dinner Plate, Serving Bowl, Carafe, Cutlery Set; Stoneware, Porcelain, Recycled Glass
Outdoor: For nights under the sky
  Tents: For one to six people; 79-899 €, 450-9800 g
    Dome Tent, Tunnel Tent, Tarp, Bivouac Sack; Ripstop Nylon, Cotton Canvas, Recycled Polyester
  Backpacks: From day trips to expeditions; 39-329 €, 380-2600 g
    Daypack, Trekking Pack, Roll-Top Bag, Duffel; Waxed Canvas, Ripstop Nylon, Recycled Polyester
  Sleeping Bags: Bags, quilts and mats; 29-499 €, 180-2100 g
    Mummy Bag, Quilt, Sleeping Mat, Liner; Down, Merino, Synthetic Fill
  Camp Kitchen: Stoves and what goes on them; 15-179 €, 85-900 g
    Gas Stove, Kettle, Mess Kit, Water Filter; Titanium, Aluminium, Stainless Steel
Home: For living and sleeping well
  Bedding: Duvets, pillows and linen; 25-289 €, 400-3100 g
    Duvet, Pillow, Sheet Set, Bedspread; Linen, Organic Cotton, Bamboo
  Lighting: Lamps for desks, floors and ceilings; 35-459 €, 500-7200 g
    Desk Lamp, Floor Lamp, Pendant, Lantern; Brass, Oak, Opal Glass, Paper
  Storage: Baskets, boxes and shelves; 12-199 €, 300-8800 g
    Basket, Storage Box, Wall Shelf, Coat Rack; Rattan, Oak, Felt, Powder-Coated Steel
Office: For thinking and writing
  Stationery: Paper, pens and ink; 4-149 €, 25-700 g
    Notebook, Fountain Pen, Pencil Case, Desk Calendar; Leather, Recycled Paper, Brass
  Furniture: Desks, chairs and stands; 49-1290 €, 1500-42000 g
    Standing Desk, Office Chair, Monitor Stand, Bookcase; Oak, Walnut, Bamboo
Garden: For beds, balconies and lawns
  Hand Tools: To dig, cut and rake; 11-119 €, 180-2700 g
    Trowel, Secateurs, Spade, Rake; Forged Steel, Stainless Steel, Ash
  Planters: Pots, boxes and hanging baskets; 9-219 €, 400-16000 g
    Planter, Window Box, Hanging Basket, Raised Bed; Terracotta, Zinc, Larch
`;

interface CategoryWords {
  readonly name: string;
  readonly description: string;
  /** Whole euros. */
  readonly price: Range;
  readonly weightGrams: Range;
  readonly nouns: readonly string[];
  readonly materials: readonly string[];
}
type Range = readonly [low: number, high: number];

export const departments = catalog.trim().split(/\n(?=\S)/).map((department) => {
  const [heading = "", ...lines] = department.split("\n");
  const [name = "", description = ""] = heading.split(": ");
  const categories = lines.flatMap((line, at) =>
    at % 2 === 0 ? [categoryWords(line, lines[at + 1] ?? "")] : []
  );
  return { name, description, categories };
});

function categoryWords(heading: string, kinds: string): CategoryWords {
  const [name = "", description = "", ranges = ""] = heading.trim().split(/: |; /);
  const [nouns = [], materials = []] = kinds.trim().split("; ").map((list) => list.split(", "));
  const [cheapest = 0, dearest = 0, lightest = 0, heaviest = 0] = ranges.match(/\d+/g)?.map(Number) ?? [];
  return {
    name,
    description,
    price: [cheapest, dearest],
    weightGrams: [lightest, heaviest],
    nouns,
    materials,
  };
}

export const productLines = ["Alder", "Birk", "Corvo", "Dune", "Estrel", "Fjord", "Gale", "Hearth"] as const;
export const colors = ["black", "white", "natural", "forest green", "slate blue", "rust", "sand"] as const;
export const tags = ["bestseller", "handmade", "recycled", "vegan", "gift", "limited", "repairable"] as const;

export const suppliers = withCountries(
  "Nordlys Metallverk NO,Atelier Beaumont FR,Kurokawa Hamono JP,Schäfer & Söhne DE," +
    "Tessitura Valtorta IT,Olde Mill Pottery GB,Karpaty Drewno PL,Cortiça do Sul PT,Pine Ridge Gear US," +
    "Huis van Linnen NL,Østerbro Lys DK,Alpenfaden AT,Talleres Íbero ES,Lännen Puu FI",
);

export const places = withCountries(
  "Berlin DE,Hamburg DE,München DE,Wien AT,Graz AT,Zürich CH,Paris FR,Lyon FR,Amsterdam NL,Utrecht NL," +
    "København DK,Oslo NO,Stockholm SE,Göteborg SE,Helsinki FI,Kraków PL,Łódź PL,Praha CZ,Milano IT," +
    "Torino IT,Madrid ES,València ES,Lisboa PT,London GB,Edinburgh GB,Dublin IE",
);

/** Names, each with the two letters of its country behind it. */
function withCountries(list: string): (readonly [name: string, country: string])[] {
  return list.split(",").map((entry) => [entry.slice(0, -3), entry.slice(-2)]);
}

export const firstNames = [
  ..."Anna Ben Clara David Elif Felix Greta Hugo Ida Jonas Katarzyna Luca Marie Noah Olivia Paul".split(" "),
  ..."Quentin Rosa Søren Tereza Ulrich Vera Walid Ximena Yusuf Zoë André Beatriz Chloé Darragh".split(" "),
  ..."Eero Françoise Gülşen Håkon Inês José Łukasz Maja Niamh Óscar Priya Renée Siobhán Théo".split(" "),
] as const;

export const lastNames = [
  ..."Almeida Bianchi Caruso Dubois Eriksen Fischer García Hansen Ivanova Jensen Kowalski Lindqvist".split(
    " ",
  ),
  ..."Moreau Novák O'Brien Petersen Quinn Rossi Schmidt Tanaka Ünal Virtanen Weber Yılmaz Zhang".split(" "),
  ..."Åkesson Björk Çelik D'Angelo Gruber Müller Núñez Ødegård Ribeiro Świątek van-Dijk Wójcik".split(" "),
] as const;

export const orderNotes = [
  "Please leave the parcel with the neighbour.",
  "Gift: no invoice in the box, please.",
  "Ring twice; the bell is old.",
  "Deliver after 17:00.",
  "Bitte beim Nachbarn abgeben.",
] as const;

export const reviewTitles: Readonly<Record<number, readonly string[]>> = {
  1: ["Broke within a week", "Not as described", "Returned it"],
  2: ["Disappointing", "Expected more"],
  3: ["Does the job", "Good, not great"],
  4: ["Very good", "Solid quality", "Would buy again"],
  5: ["Excellent", "Exactly what I wanted", "A joy to use", "Perfect gift"],
};

export const reviewBodies: Readonly<Record<number, readonly string[]>> = {
  1: ["The finish came off after the first use.", "Arrived with a crack, and the seam was open."],
  2: ["Looks nice, but feels cheaper than the photos suggest.", "Too heavy for what it does."],
  3: ["Fine for the price. Delivery took a while.", "It works; the instructions are hard to follow."],
  4: ["Well made and pleasant in the hand.", "Good value; one point off for the packaging."],
  5: ["I use it every day and would not give it back.", "Beautiful work. My second one from this shop."],
};

/** What a table printed as text has to cope with. */
export const awkwardReviewBodies = [
  "Pros:\n- light\n- quiet\nCons:\n- none so far",
  "size\tfits\nM\tyes\nL\ttoo wide",
  "Cost me 49,90 € — worth it 👍🏽 „prima“ «très bien» 日本語もOK",
  'C:\\Users\\me said: "it\'s great", and so do I',
  "  leading and trailing spaces  ",
  "Windows line ends\r\nare kept",
  "העברית נכתבת מימין לשמאל, and English the other way",
  "e\u0301 is not é to every program",
  "NULL",
  "\\N",
] as const;
