import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'

interface SealedColumn {
  table: string
  key: string
  column: string
}

/**
 * Returns a sentence for each mistake in an app's list of sealed (encrypted) columns: a purpose in the sources
 * (`table.column:…`) that the list lacks, a column that the list lacks although its migration comment says "sealed",
 * and an entry that the database lacks. Values in a column that the list lacks could not be decrypted after their key
 * is removed.
 */
export async function brokenSealRules(
  app: string,
  connectionString: string,
  listed: readonly SealedColumn[],
): Promise<string[]> {
  const names = listed.map(({ table, column }) => `${table}.${column}`)
  const purposes = sealedInSources(app).filter((pattern) => !names.some((name) => pattern.test(name)))
  const commented = sealedInMigrations(app).filter((column) => !listed.some((one) => one.column === column))
  return [
    ...purposes.map((pattern) => `the sources seal ${pattern.source}, which is not listed`),
    ...commented.map((column) => `a migration calls the column ${column} sealed, which is not listed`),
    ...(await unknown(connectionString, listed)).map(
      (name) => `${name} is not a text column of a table with a unique key`,
    ),
  ]
}

/**
 * Returns patterns of the sealed columns that the sources use. A purpose is a template such as
 * `warehouses.${role}_password:${client}`.
 */
function sealedInSources(app: string): RegExp[] {
  const files = globSync('src/**/*.ts', { cwd: app }).filter((file) => !file.endsWith('.test.ts'))
  return files.flatMap((file) =>
    [...readFileSync(join(app, file), 'utf8').matchAll(/`(\w+\.(?:\w|\$\{\w+\})+):\$\{/g)].map(
      ([, name = '']) => new RegExp(`^${name.replaceAll(/\$\{\w+\}/g, String.raw`\w+`)}$`),
    ),
  )
}

/** Returns the text columns in migrations that follow a comment with the word "sealed". */
const sealedInMigrations = (app: string): string[] =>
  globSync('migrations/*.sql', { cwd: app }).flatMap((file) =>
    [
      ...readFileSync(join(app, file), 'utf8').matchAll(/^ *--.*\b[Ss]ealed\b.*\n(?: *--.*\n)*  (?!--)(\w+) text/gm),
    ].map(([, column = '']) => column),
  )

async function unknown(connectionString: string, listed: readonly SealedColumn[]): Promise<string[]> {
  const client = new pg.Client({ connectionString })
  await client.connect()
  try {
    const { rows } = await client.query<{ name: string }>(
      `select format('%s.%s', l.table, l.column) as name
       from jsonb_to_recordset($1) as l("table" text, key text, "column" text)
       where not exists (
         select from pg_attribute a where a.attrelid = to_regclass(l.table) and a.attname = l.column and a.atttypid = 'text'::regtype)
       or not exists (
         select from pg_index i join pg_attribute k on k.attrelid = i.indrelid and k.attname = l.key
         where i.indrelid = to_regclass(l.table) and i.indisunique and i.indpred is null and i.indkey::text = k.attnum::text)`,
      [JSON.stringify(listed)],
    )
    return rows.map(({ name }) => name)
  } finally {
    await client.end()
  }
}
