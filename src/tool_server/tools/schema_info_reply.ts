import { z } from "zod";

const column = z.object({
  name: z.string(),
  data_type: z.string(),
  nullable: z.boolean(),
  description: z.string(),
  default: z.string(),
  identity: z.enum(["", "a", "d"]),
  is_pk: z.boolean(),
  is_unique: z.boolean(),
  is_indexed: z.boolean(),
  fk_ref: z.string(),
  labels: z.array(z.string()),
  vector_dims: z.int().optional(),
});

const namedExpression = z.object({
  name: z.string(),
  synonyms: z.array(z.string()),
  description: z.string(),
  sql: z.string(),
});

/** What `get_schema_info` answers; the console reads it too. */
export const schemaInfoReply = z.object({
  database: z.string(),
  table_count: z.int().describe("Tables and views that the filter selects."),
  tables: z.array(z.object({
    schema: z.string(),
    name: z.string(),
    type: z.string(),
    description: z.string(),
    estimated_rows: z.int().describe("The planner's estimate; -1 where unknown."),
    columns: z.array(column).optional().describe("Absent in a summary or where compact is true."),
    indexes: z.array(z.string()).optional(),
    partitions: z.int().optional().describe("How many partitions it has, on all levels."),
  })),
  partitions_left_out: z.int(),
  models: z.array(z.object({
    name: z.string(),
    synonyms: z.array(z.string()),
    description: z.string(),
    schema: z.string(),
    table: z.string(),
    measures: z.array(namedExpression).optional(),
    dimensions: z.array(namedExpression).optional(),
    joins: z.array(z.object({ to: z.string(), on: z.string(), description: z.string() })).optional(),
  })).optional().describe("The administrator's names for what these tables hold, with their SQL."),
});
