import { once } from 'node:events'
import { attacks, type Statuses } from './attacks.ts'
import { downloadAttacks } from './download-attacks.ts'
import { type OrganisationLogin, signInOrganisation } from './bench-organisation.ts'
import { readerAttacks } from './reader-attacks.ts'

/**
 * Runs the clients of organisation A in a separate process: `attacker.ts <name of the attack> <login as JSON>`. Sends a
 * message once the attack runs, ends the attack at the first message it receives, and then sends the HTTP statuses it
 * got, with their counts.
 */

const [name, login] = process.argv.slice(2) as [string, string]
const organisation: OrganisationLogin = JSON.parse(login)
await using attacker = await signInOrganisation(organisation)
const attack = await { ...attacks, ...downloadAttacks, ...readerAttacks }[name]!.prepare(
  attacker,
  organisation.pipelineUrl,
)
const statuses: Statuses = new Map()
const attackEnd = new AbortController()
const attackDone = attack(attackEnd.signal, statuses)
process.send!('started')
await once(process, 'message')
attackEnd.abort()
await attackDone
process.send!([...statuses])
process.disconnect()
