import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline/promises'
import { afterAll, beforeAll, describe } from '@jest/globals'

/** Independent implementations, by their folder in `.sluice`: the required package, and the program that starts it and prints its port. */
const independentServers = {
  couchdb: { needs: 'express-pouchdb', program: '../src/community-health-toolkit/test/independent-couchdb-server.ts' },
  fhir: { needs: '@medplum/fhir-router', program: '../src/fhir/test/independent-fhir-server.ts' },
}

export interface IndependentServer {
  readonly url: string
}

/** Tests with an independent implementation. If it is not installed, they are skipped, and the title says how to install it. */
export function describeWithIndependentServer(
  name: keyof typeof independentServers,
  title: string,
  tests: (server: IndependentServer) => void,
): void {
  const { needs, program } = independentServers[name]
  const folder = join(import.meta.dirname, '../../../.sluice', name)
  if (!existsSync(join(folder, 'node_modules', needs))) {
    describe.skip(`${title} (install it by \`node infra/independent-servers/install.ts ${name}\`)`, () =>
      tests({ url: '' }))
    return
  }
  describe(title, () => {
    const server = { url: '' }
    let stop = () => {}
    beforeAll(async () => {
      const file = join(import.meta.dirname, program)
      const child = spawn(process.execPath, [file, folder], { stdio: ['pipe', 'pipe', 'inherit'] })
      stop = () => void child.kill()
      for await (const line of createInterface(child.stdout)) {
        server.url = `http://127.0.0.1:${line}`
        break
      }
    })
    afterAll(() => stop())
    tests(server)
  })
}
