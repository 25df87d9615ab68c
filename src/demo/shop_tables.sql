-- The shop's tables; public is the only schema that its clients look in.

CREATE TYPE customer_tier AS ENUM ('standard', 'silver', 'gold');
CREATE TYPE order_status AS ENUM ('pending', 'paid', 'shipped', 'delivered', 'cancelled', 'returned');

CREATE TABLE suppliers (
  id integer PRIMARY KEY,
  name text NOT NULL UNIQUE,
  country char(2) NOT NULL,
  contact_email text NOT NULL,
  lead_time_days integer NOT NULL CHECK (lead_time_days > 0),
  partner_since date NOT NULL
);

CREATE TABLE categories (
  id integer PRIMARY KEY,
  parent_id integer REFERENCES categories,
  name text NOT NULL UNIQUE,
  description text NOT NULL
);

CREATE TABLE products (
  id integer PRIMARY KEY,
  sku text NOT NULL UNIQUE,
  name text NOT NULL,
  category_id integer NOT NULL REFERENCES categories,
  supplier_id integer NOT NULL REFERENCES suppliers,
  price numeric(12,2) NOT NULL CHECK (price > 0),
  cost numeric(12,2) NOT NULL CHECK (cost > 0 AND cost < price),
  in_stock integer NOT NULL CHECK (in_stock >= 0),
  tags text[] NOT NULL DEFAULT '{}',
  attributes jsonb NOT NULL DEFAULT '{}',
  discontinued boolean NOT NULL DEFAULT false,
  listed_on date NOT NULL
);

CREATE TABLE customers (
  id integer PRIMARY KEY,
  email text NOT NULL UNIQUE,
  full_name text NOT NULL,
  city text NOT NULL,
  country char(2) NOT NULL,
  tier customer_tier NOT NULL DEFAULT 'standard',
  newsletter boolean NOT NULL,
  birth_date date,
  registered_at timestamptz NOT NULL
);

CREATE TABLE orders (
  id integer PRIMARY KEY,
  customer_id integer NOT NULL REFERENCES customers,
  status order_status NOT NULL,
  placed_at timestamptz NOT NULL,
  shipped_at timestamptz CHECK (shipped_at >= placed_at),
  delivered_at timestamptz CHECK (delivered_at >= shipped_at),
  shipping_fee numeric(12,2) NOT NULL CHECK (shipping_fee >= 0),
  discount_percent smallint NOT NULL DEFAULT 0 CHECK (discount_percent BETWEEN 0 AND 50),
  note text
);

CREATE TABLE order_lines (
  order_id integer NOT NULL REFERENCES orders,
  line_number smallint NOT NULL CHECK (line_number > 0),
  product_id integer NOT NULL REFERENCES products,
  quantity integer NOT NULL CHECK (quantity > 0),
  unit_price numeric(12,2) NOT NULL CHECK (unit_price > 0),
  PRIMARY KEY (order_id, line_number)
);

CREATE TABLE reviews (
  id integer PRIMARY KEY,
  product_id integer NOT NULL REFERENCES products,
  customer_id integer NOT NULL REFERENCES customers,
  rating smallint NOT NULL CHECK (rating BETWEEN 1 AND 5),
  title text,
  body text NOT NULL,
  helpful_votes integer NOT NULL DEFAULT 0 CHECK (helpful_votes >= 0),
  written_at timestamptz NOT NULL,
  UNIQUE (product_id, customer_id)
);
