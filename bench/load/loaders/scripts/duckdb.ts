import { DuckDBInstance } from '@duckdb/node-api'

/** Writes a CSV file as CSV for COPY. DuckDB infers the types and normalizes the values. */
const [file = ''] = process.argv.slice(2)
const instance = await DuckDBInstance.create(':memory:')
const connection = await instance.connect()
await connection.run(
  `copy (select * from read_csv('${file.replaceAll("'", "''")}')) to '/dev/stdout' (format csv, header)`,
)
connection.closeSync()
