import { readFileSync } from 'node:fs'
import { expect, it } from '@jest/globals'
import { testConnector } from '../conformance.ts'
import { clinicRegister } from './clinic-register-stand-in.ts'

const here = (path: string) => new URL(path, import.meta.url)
const blocks = [
  ...readFileSync(here('../../../../docs/adding-a-connector.md'), 'utf8').matchAll(/```ts\n(.*?)```/gs),
].map(([, block = '']) => block.replaceAll(/^ {3}/gm, ''))

testConnector({ ...clinicRegister, module: here('clinic-register.ts').href })

it.each([
  ['clinic-register.ts', '../../src/', '../'],
  ['clinic-register-stand-in.ts', '../', '../../../test/'],
])('docs/adding-a-connector.md shows the current content of %s', (file, from, there) => {
  const shown = readFileSync(here(file), 'utf8').replaceAll(`from '${from}`, `from '${there}`)
  expect(blocks).toContain(shown)
})
