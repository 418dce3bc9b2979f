import { DuckDBInstance } from '@duckdb/node-api'

/** DuckDB reads a CSV file as it sees fit, and writes it as CSV for COPY: types guessed, values cleaned. */
const [file = ''] = process.argv.slice(2)
const instance = await DuckDBInstance.create(':memory:')
const connection = await instance.connect()
await connection.run(
  `copy (select * from read_csv('${file.replaceAll("'", "''")}')) to '/dev/stdout' (format csv, header)`,
)
connection.closeSync()
