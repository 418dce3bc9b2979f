import { execFile, spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { copyFile, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { openPostgresWarehouse } from '@sluice/warehouses/postgres/postgres-warehouse'
import { provisionWarehouse } from '@sluice/warehouses/postgres/server/provision-warehouse'
import { newReaderLogin, newReaderPassword } from '@sluice/warehouses/warehouse-reader-logins'
import { type PublicServer, startPublicServer } from '@sluice/warehouses/testing/server-with-public-address'
import { columns, loadAll } from '@sluice/warehouses/testing/row-fixtures'
import { readerEndpoints } from '../src/warehouse-readers/reader-addresses.ts'

/** Why a program is not there; undefined if it is. Debian's own python3 has the packages of Debian. */
const missing = (program: string, ...args: string[]): boolean => spawnSync(program, args).status !== 0
const python = '/usr/bin/python3'
const jdbcDriver = '/usr/share/java/postgresql.jar'
const odbcDriver = 'PostgreSQL Unicode'

/** The programs of docs/connect.md that Debian has, with the command that shows whether they are installed. */
const programs: Record<string, boolean> = {
  psql: missing('psql', '--version'),
  'R (r-cran-rpostgresql)': missing('Rscript', '-e', 'library(RPostgreSQL)'),
  'Python (python3-psycopg)': missing(python, '-c', 'import psycopg'),
  'pandas (python3-pandas, python3-sqlalchemy, python3-psycopg2)': missing(
    python,
    '-c',
    'import pandas, sqlalchemy, psycopg2',
  ),
  'JDBC (libpostgresql-jdbc-java, a JDK)': !existsSync(jdbcDriver) || missing('javac', '-version'),
  'ODBC (unixodbc, odbc-postgresql)': missing('odbcinst', '-q', '-d', '-n', odbcDriver),
}
const absent = (name: keyof typeof programs) => programs[name] !== false

describe('a reader connects with sslmode=verify-full and the returned strings', () => {
  const client = { key: 'programs', loadPassword: 'load-password', readPassword: 'read-password' }
  let server: PublicServer
  let folder: string
  let strings: { libpq: string; jdbc: string; odbc: string; sqlalchemy: string }
  let connection: { host: string; port: number; database: string; user: string }
  let password: string
  beforeAll(async () => {
    server = await startPublicServer()
    folder = await mkdtemp(join(tmpdir(), 'sluice-programs-'))
    await copyFile(server.certificateFile, join(folder, 'warehouse.pem'))
    await using warehouse = openPostgresWarehouse(await provisionWarehouse(server.adminUrl, client))
    await warehouse.catalog.ensureSchema('health')
    const shape = columns({ id: 'INTEGER', district: 'TEXT', rate: 'DECIMAL(5,2)', day: 'DATE' })
    const rows = [
      [1, 'Bö', '1.50', '2026-01-02'],
      [2, 'Kenema', '2.25', '2026-01-03'],
    ]
    await loadAll(warehouse, { table: 'cases', columns: shape }, rows)
    const settings = {
      WAREHOUSE_DATABASE_URL: server.adminUrl,
      WAREHOUSE_PUBLIC_ADDRESS: { host: 'localhost', port: server.port },
      WAREHOUSE_PUBLIC_CERTIFICATE: server.certificate,
    }
    const [endpoint] = readerEndpoints(settings).values()
    const user = newReaderLogin(client.key)
    password = newReaderPassword()
    await endpoint!.server.define(client, { login: user, schemas: ['health'], active: true }, password)
    connection = { ...endpoint!.address!, database: endpoint!.database(client.key, ['health']), user }
    strings = endpoint!.connectionStrings({ ...connection, sslMode: endpoint!.sslMode }, password, [
      'health',
      'Überblick "1"',
    ]) as typeof strings
  })
  afterAll(async () => {
    await server?.[Symbol.asyncDispose]()
    if (folder) await rm(folder, { recursive: true, force: true })
  })

  /** Runs a program in the folder with the certificate. */
  async function run(program: string, args: string[], env: NodeJS.ProcessEnv = {}): Promise<string> {
    const { stdout } = await promisify(execFile)(program, args, { cwd: folder, env: { ...process.env, ...env } })
    return stdout.trim()
  }
  const inPython = (script: string, env: NodeJS.ProcessEnv) => run(python, ['-c', script], env)

  const test = (name: keyof typeof programs, title: string, work: () => Promise<void>) =>
    absent(name) ? it.skip(`${title}: ${name} is not installed`, () => {}) : it(`${title}: ${name}`, work, 60_000)

  test('psql', 'and lists and reads tables', async () => {
    expect(await run('psql', [strings.libpq, '-At', '-c', 'select district from cases order by id'])).toBe('Bö\nKenema')
    expect(await run('psql', [strings.libpq, '-At', '-c', '\\d'])).toContain('health|cases')
    expect(
      await run('psql', [strings.libpq, '-At', '-c', '\\copy (select * from cases order by id) to stdout csv header']),
    ).toBe('id,district,rate,day\n1,Bö,1.50,2026-01-02\n2,Kenema,2.25,2026-01-03')
    const tls = 'select ssl from pg_stat_ssl where pid = pg_backend_pid()'
    expect(await run('psql', [strings.libpq, '-At', '-c', tls])).toBe('t')
  })

  test('psql', 'and is refused with another certificate or for another name', async () => {
    const elsewhere = strings.libpq.replace('@localhost:', '@127.0.0.2:')
    await expect(run('psql', [elsewhere, '-c', 'select 1'])).rejects.toThrow(/does not match host name|certificate/)
    const unknown = strings.libpq.replace('warehouse.pem', '/etc/ssl/certs/ca-certificates.crt')
    await expect(run('psql', [unknown, '-c', 'select 1'])).rejects.toThrow(/certificate verify failed|certificate/)
  })

  test('R (r-cran-rpostgresql)', 'and reads a data frame', async () => {
    const { host, port, database, user } = connection
    const script = `library(DBI); Sys.setenv(PGSSLMODE = "verify-full", PGSSLROOTCERT = "warehouse.pem")
      session <- dbConnect(RPostgreSQL::PostgreSQL(), host = "${host}", port = ${port}, dbname = "${database}", user = "${user}", password = Sys.getenv("READER_PASSWORD"))
      cat(sum(dbGetQuery(session, "select * from cases")$rate))`
    expect(await run('Rscript', ['-e', script], { READER_PASSWORD: password })).toBe('3.75')
  })

  test('Python (python3-psycopg)', 'and reads rows', async () => {
    const script = `import os, psycopg
with psycopg.connect(os.environ['READER']) as session: print(session.execute('select sum(rate) from cases').fetchone()[0])`
    expect(await inPython(script, { READER: strings.libpq })).toBe('3.75')
  })

  test('pandas (python3-pandas, python3-sqlalchemy, python3-psycopg2)', 'and reads a data frame', async () => {
    // SQLAlchemy of Debian 12 has no dialect for psycopg 3.
    const url = strings.sqlalchemy.replace('+psycopg:', '+psycopg2:')
    const script = `import os, pandas, sqlalchemy
engine = sqlalchemy.create_engine(os.environ['READER'])
with engine.connect() as session: print(pandas.read_sql_query(sqlalchemy.text('select * from cases'), session).shape)
print(sqlalchemy.inspect(engine).get_table_names(schema='health'))`
    expect(await inPython(script, { READER: url })).toBe("(2, 4)\n['cases']")
  })

  test('JDBC (libpostgresql-jdbc-java, a JDK)', 'and reads rows', async () => {
    const program = `import java.sql.*;
class Read {
  public static void main(String[] args) throws Exception {
    try (var session = DriverManager.getConnection(System.getenv("READER"));
        var rows = session.createStatement().executeQuery("select sum(rate) from cases")) {
      rows.next();
      System.out.print(rows.getString(1));
    }
  }
}`
    await writeFile(join(folder, 'Read.java'), program)
    expect(await run('java', ['-cp', jdbcDriver, 'Read.java'], { READER: strings.jdbc })).toBe('3.75')
  })

  test('ODBC (unixodbc, odbc-postgresql)', 'and reads rows', async () => {
    const query = 'printf \'select district from cases order by id;\\n\' | isql -v -b -k "$READER"'
    expect(await run('sh', ['-c', query], { READER: strings.odbc })).toContain('Kenema')
  })
})
