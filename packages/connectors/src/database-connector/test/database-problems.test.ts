import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import mssql from 'mssql'
import { DatabaseError } from 'pg'
import { databaseLimits } from '../database-config.ts'
import { createDatabaseSource } from '../database-source.ts'
import { createDatabaseProblem, findDatabaseProblem, redactError } from '../database-problems.ts'
import { loadEngine } from '../database-session.ts'
import { somewhere as config } from './raw-tcp-servers.ts'
import { here, listener, postgresConfig, superuser, word } from './load-row-stream.ts'

const kinds = ['postgres', 'redshift', 'mysql', 'sql-server', 'oracle']
const explain = async (kind: string, error: unknown) => findDatabaseProblem(error, config, await loadEngine(kind), true)

describe('an error while a database is read', () => {
  it.each(kinds)('is not a source problem if no driver, database or network raised it (%s)', async (kind) => {
    expect(await explain(kind, new TypeError("Cannot read properties of undefined (reading 'packet')"))).toBeUndefined()
    expect(await explain(kind, new RangeError('offset is out of bounds'))).toBeUndefined()
    expect(await explain(kind, new Error('a packet is closed, and its certificate too'))).toBeUndefined()
    expect(await explain(kind, 'thrown text')).toBeUndefined()
  })

  it('is not a source problem if a driver wraps an internal error', async () => {
    const wrapped = new mssql.RequestError(new TypeError('x is not a function'), 'EREQUEST')
    expect(await explain('sql-server', wrapped)).toBeUndefined()
  })

  it.each<[string, Error]>([
    ['postgres', Object.assign(new DatabaseError('division by zero', 0, 'error'), { code: '22012' })],
    ['mysql', Object.assign(new Error('division by zero'), { code: 'ER_DIVISION_BY_ZERO', errno: 1365 })],
    ['mysql', Object.assign(new Error('division by zero'), { errno: 4999, sqlMessage: 'division by zero' })],
    ['sql-server', Object.assign(new mssql.RequestError('division by zero', 'EREQUEST'), { number: 8134 })],
    ['sql-server', Object.assign(new Error('division by zero'), { code: 'EREQUEST', number: 8134 })],
    ['oracle', Object.assign(new Error('ORA-01476: division by zero'), { code: 'ORA-01476' })],
    ['oracle', Object.assign(new Error('NJS-999: division by zero'), { code: 'NJS-999' })],
  ])('is reported as STATEMENT_FAILED with its own message if its code is unknown (%s)', async (kind, error) => {
    const message = expect.stringContaining('division by zero')
    expect(await explain(kind, error)).toMatchObject({ code: 'STATEMENT_FAILED', message })
  })

  it.each(kinds)('is classified as a network problem by its error code (%s)', async (kind) => {
    const reset = Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' })
    expect(await explain(kind, reset)).toMatchObject({ code: 'CONNECTION_LOST' })
    const refused = Object.assign(new Error('connect EPERM'), { code: 'EPERM', syscall: 'connect' })
    expect(await explain(kind, refused)).toMatchObject({ code: 'CONNECTION_REFUSED' })
  })

  it('is reported without the password, also if white space is collapsed or the message is truncated', () => {
    const password = 'two  spaces\tand a tab'
    const told = (detail: string) =>
      createDatabaseProblem({ code: 'STATEMENT_FAILED', detail }, { ...config, password }, 'PostgreSQL').message
    expect(told(`no ${password}\n here`)).toMatch(/no \[redacted\] here$/)
    expect(told(`${'x'.repeat(489)} ${password}`)).not.toContain('two')
  })

  it('redacts the password only as a whole word, and not if the message shows the same text anyway', () => {
    const told = (detail: string, changes: object) =>
      createDatabaseProblem({ code: 'STATEMENT_FAILED', detail }, { ...config, ...changes }, 'PostgreSQL').message
    const sentence = 'database "srcdb" does not know src'
    expect(told(sentence, { password: 'src' })).toContain('database "srcdb" does not know [redacted]')
    expect(told(sentence, { password: 'srcdb', database: 'srcdb' })).toContain(sentence)
  })

  it('says that the password is missing if a sign-in without a password fails', () => {
    const told = (password: string) =>
      createDatabaseProblem({ code: 'AUTHENTICATION_FAILED' }, { ...config, password }, 'PostgreSQL').message
    expect(told('')).toContain('rejected user "reader" without a password. Enter the password')
    expect(told('some')).toContain('Check the username, the password')
  })

  it.each([
    [
      "SELECT command denied to user 'reader'@'localhost' for table `shop`.`cases`",
      'SELECT command denied to this user for table `shop`.`cases`',
    ],
    ["Unknown column 'reader' in 'SELECT'", "Unknown column 'reader' in 'SELECT'"],
  ])('replaces only the MySQL user with “this user”: %s', async (message, told) => {
    const error = Object.assign(new Error(message), { code: 'ER_TABLEACCESS_DENIED_ERROR', errno: 1142 })
    const explanation = await explain('mysql', error)
    expect(explanation?.message).toMatch(/ It says: /)
    expect(explanation?.message.split(' It says: ')[1]).toBe(told)
  })

  it('is redacted without the password, and keeps its stack', () => {
    const told = redactError(new TypeError(`no a-password-of-somebody`), config)
    expect(told.stack).toContain('problems.test')
    expect(told.message + told.stack).not.toContain(config.password)
  })
})

describe('an internal error in the reader thread', () => {
  const database = word('bugs')
  let admin: Awaited<ReturnType<typeof superuser>>
  beforeAll(async () => {
    admin = await superuser()
    await admin.query(`create database ${database}`)
  })
  afterAll(async () => {
    await admin.query(`drop database ${database} with (force)`)
    await admin.end()
  })

  it('is reported as an Error and not as a SourceProblem', async () => {
    const { report } = listener()
    const signal = new AbortController().signal
    const read = async () => {
      const asked = postgresConfig(database, { query: 'select 1 as id' })
      for await (const { content } of createDatabaseSource(here, databaseLimits).read(asked, report, signal)) {
        if (content.format === 'copy-binary') await Array.fromAsync(content.rows(undefined as never))
      }
    }
    const error = await read().catch((thrown: unknown) => thrown)
    expect(error).toMatchObject({
      name: 'Error',
      message: expect.stringMatching(/^Reading .* failed$/),
      cause: { message: expect.stringContaining('undefined') },
    })
  })
})
