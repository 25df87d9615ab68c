/** The PostgreSQL driver, with its types, under one name for the whole layer. */
// @ts-types="@types/pg"
import pg from "pg";
// @ts-types="@types/pg-cursor"
import Cursor from "pg-cursor";

export { Cursor, pg };
