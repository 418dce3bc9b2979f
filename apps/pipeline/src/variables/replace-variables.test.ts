import { expect, it } from '@jest/globals'
import { namesVariables, replaceVariables } from './replace-variables.ts'
import { insertVariablesIntoSql } from './insert-variables-into-sql.ts'
import type { SqlLanguage } from './sql-syntax-rules.ts'
import { Variables } from './variables.ts'

const variables = new Variables([
  { name: 'host', value: 'db.example', secured: false },
  { name: 'pass', value: 'hush ${host} $& now', secured: true },
])

it('replaces variables in every string of the settings', () => {
  const settings = { url: 'https://${host}:${ host }/', list: ['${pass}'], port: 5, off: false, none: null }
  expect(replaceVariables(settings, variables)).toEqual({
    url: 'https://db.example:db.example/',
    list: ['hush ${host} $& now'],
    port: 5,
    off: false,
    none: null,
  })
})

it('reads a doubled dollar sign as an escaped one', () => {
  expect(replaceVariables('a$${host}b ${ $ {', variables)).toBe('a${host}b ${ $ {')
})

it('names the variable that does not exist', () => {
  expect(() => replaceVariables({ url: '${nobody}' }, variables)).toThrow(
    'The variable ${nobody} does not exist or has no value.',
  )
})

it('reports whether a value contains variables', () => {
  expect(namesVariables({ a: ['b'] }, null)).toBe(false)
  expect(namesVariables({ a: ['${b}'] })).toBe(true)
})

it('redacts secured values and keeps other values', () => {
  expect(variables.hideIn('db.example refuses "hush ${host} $& now"')).toBe('db.example refuses "[redacted]"')
  expect(variables.securedValues).toEqual(['hush ${host} $& now'])
})

it.each(["to'ken", 'to\\ken', "to\\'k\ne\\n", 'token-1'])('redacts %j in any SQL dialect', (value) => {
  const secured = new Variables([{ name: 'token', value, secured: true }])
  const languages: SqlLanguage[] = ['postgres', 'redshift', 'mysql', 'sql-server', 'oracle', 'clickhouse']
  for (const language of languages) {
    const literal = insertVariablesIntoSql('${token}', secured, language).trim()
    expect(secured.hideIn(`near ${literal} at line 1`)).toBe('near [redacted] at line 1')
    if (/^[EN]?'/.test(literal))
      expect(secured.hideIn(`near ${literal.slice(literal.indexOf("'") + 1, -1)} .`)).toBe('near [redacted] .')
  }
  expect(secured.hideIn(`near X'${Buffer.from(value).toString('hex')}'`)).toBe("near X'[redacted]'")
})
