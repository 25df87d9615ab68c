/** What the shop's rows are put together from. */

export interface CategoryWords {
  readonly name: string;
  readonly description: string;
  readonly nouns: readonly string[];
  readonly materials: readonly string[];
  /** Whole euros. */
  readonly price: readonly [low: number, high: number];
  readonly weightGrams: readonly [low: number, high: number];
}

export interface DepartmentWords {
  readonly name: string;
  readonly description: string;
  readonly categories: readonly CategoryWords[];
}

export const departments: readonly DepartmentWords[] = [
  {
    name: "Kitchen",
    description: "For cooking, baking and the table",
    categories: [
      {
        name: "Cookware",
        description: "Pots and pans",
        nouns: ["Skillet", "Saucepan", "Dutch Oven", "Wok"],
        materials: ["Cast Iron", "Carbon Steel", "Copper", "Stainless Steel"],
        price: [29, 249],
        weightGrams: [800, 5200],
      },
      {
        name: "Knives",
        description: "Kitchen knives and what keeps them sharp",
        nouns: ["Chef's Knife", "Paring Knife", "Bread Knife", "Whetstone"],
        materials: ["Damascus Steel", "Carbon Steel", "Ceramic"],
        price: [19, 189],
        weightGrams: [60, 420],
      },
      {
        name: "Coffee & Tea",
        description: "Grinders, brewers, pots and cups",
        nouns: ["Pour-Over Set", "Hand Grinder", "Teapot", "Espresso Cup"],
        materials: ["Porcelain", "Glass", "Stainless Steel", "Walnut"],
        price: [9, 159],
        weightGrams: [120, 1300],
      },
      {
        name: "Tableware",
        description: "Plates, bowls and glasses",
        nouns: ["Dinner Plate", "Serving Bowl", "Carafe", "Cutlery Set"],
        materials: ["Stoneware", "Porcelain", "Recycled Glass"],
        price: [7, 89],
        weightGrams: [150, 1900],
      },
    ],
  },
  {
    name: "Outdoor",
    description: "For nights under the sky",
    categories: [
      {
        name: "Tents",
        description: "For one to six people",
        nouns: ["Dome Tent", "Tunnel Tent", "Tarp", "Bivouac Sack"],
        materials: ["Ripstop Nylon", "Cotton Canvas", "Recycled Polyester"],
        price: [79, 899],
        weightGrams: [450, 9800],
      },
      {
        name: "Backpacks",
        description: "From day trips to expeditions",
        nouns: ["Daypack", "Trekking Pack", "Roll-Top Bag", "Duffel"],
        materials: ["Waxed Canvas", "Ripstop Nylon", "Recycled Polyester"],
        price: [39, 329],
        weightGrams: [380, 2600],
      },
      {
        name: "Sleeping Bags",
        description: "Bags, quilts and mats",
        nouns: ["Mummy Bag", "Quilt", "Sleeping Mat", "Liner"],
        materials: ["Down", "Merino", "Synthetic Fill"],
        price: [29, 499],
        weightGrams: [180, 2100],
      },
      {
        name: "Camp Kitchen",
        description: "Stoves and what goes on them",
        nouns: ["Gas Stove", "Kettle", "Mess Kit", "Water Filter"],
        materials: ["Titanium", "Aluminium", "Stainless Steel"],
        price: [15, 179],
        weightGrams: [85, 900],
      },
    ],
  },
  {
    name: "Home",
    description: "For living and sleeping well",
    categories: [
      {
        name: "Bedding",
        description: "Duvets, pillows and linen",
        nouns: ["Duvet", "Pillow", "Sheet Set", "Bedspread"],
        materials: ["Linen", "Organic Cotton", "Bamboo"],
        price: [25, 289],
        weightGrams: [400, 3100],
      },
      {
        name: "Lighting",
        description: "Lamps for desks, floors and ceilings",
        nouns: ["Desk Lamp", "Floor Lamp", "Pendant", "Lantern"],
        materials: ["Brass", "Oak", "Opal Glass", "Paper"],
        price: [35, 459],
        weightGrams: [500, 7200],
      },
      {
        name: "Storage",
        description: "Baskets, boxes and shelves",
        nouns: ["Basket", "Storage Box", "Wall Shelf", "Coat Rack"],
        materials: ["Rattan", "Oak", "Felt", "Powder-Coated Steel"],
        price: [12, 199],
        weightGrams: [300, 8800],
      },
    ],
  },
  {
    name: "Office",
    description: "For thinking and writing",
    categories: [
      {
        name: "Stationery",
        description: "Paper, pens and ink",
        nouns: ["Notebook", "Fountain Pen", "Pencil Case", "Desk Calendar"],
        materials: ["Leather", "Recycled Paper", "Brass"],
        price: [4, 149],
        weightGrams: [25, 700],
      },
      {
        name: "Furniture",
        description: "Desks, chairs and stands",
        nouns: ["Standing Desk", "Office Chair", "Monitor Stand", "Bookcase"],
        materials: ["Oak", "Walnut", "Bamboo"],
        price: [49, 1290],
        weightGrams: [1500, 42000],
      },
    ],
  },
  {
    name: "Garden",
    description: "For beds, balconies and lawns",
    categories: [
      {
        name: "Hand Tools",
        description: "To dig, cut and rake",
        nouns: ["Trowel", "Secateurs", "Spade", "Rake"],
        materials: ["Forged Steel", "Stainless Steel", "Ash"],
        price: [11, 119],
        weightGrams: [180, 2700],
      },
      {
        name: "Planters",
        description: "Pots, boxes and hanging baskets",
        nouns: ["Planter", "Window Box", "Hanging Basket", "Raised Bed"],
        materials: ["Terracotta", "Zinc", "Larch"],
        price: [9, 219],
        weightGrams: [400, 16000],
      },
    ],
  },
];

export const productLines = ["Alder", "Birk", "Corvo", "Dune", "Estrel", "Fjord", "Gale", "Hearth"] as const;
export const colors = ["black", "white", "natural", "forest green", "slate blue", "rust", "sand"] as const;
export const tags = ["bestseller", "handmade", "recycled", "vegan", "gift", "limited", "repairable"] as const;

export const supplierNames: readonly (readonly [name: string, country: string])[] = [
  ["Nordlys Metallverk", "NO"],
  ["Atelier Beaumont", "FR"],
  ["Kurokawa Hamono", "JP"],
  ["Schäfer & Söhne", "DE"],
  ["Tessitura Valtorta", "IT"],
  ["Olde Mill Pottery", "GB"],
  ["Karpaty Drewno", "PL"],
  ["Cortiça do Sul", "PT"],
  ["Pine Ridge Gear", "US"],
  ["Huis van Linnen", "NL"],
  ["Østerbro Lys", "DK"],
  ["Alpenfaden", "AT"],
  ["Talleres Íbero", "ES"],
  ["Lännen Puu", "FI"],
];

export const places: readonly (readonly [city: string, country: string])[] = [
  ["Berlin", "DE"],
  ["Hamburg", "DE"],
  ["München", "DE"],
  ["Wien", "AT"],
  ["Graz", "AT"],
  ["Zürich", "CH"],
  ["Paris", "FR"],
  ["Lyon", "FR"],
  ["Amsterdam", "NL"],
  ["Utrecht", "NL"],
  ["København", "DK"],
  ["Oslo", "NO"],
  ["Stockholm", "SE"],
  ["Göteborg", "SE"],
  ["Helsinki", "FI"],
  ["Kraków", "PL"],
  ["Łódź", "PL"],
  ["Praha", "CZ"],
  ["Milano", "IT"],
  ["Torino", "IT"],
  ["Madrid", "ES"],
  ["València", "ES"],
  ["Lisboa", "PT"],
  ["London", "GB"],
  ["Edinburgh", "GB"],
  ["Dublin", "IE"],
];

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
