import { once } from 'node:events'
import { attacks, type Statuses } from './attacks.ts'
import { type OrganisationAddress, openOrganisation } from './organisation.ts'

/**
 * The clients of organisation A in a process of their own: `attacker.ts <name of the attack> <address as JSON>`. It sends a message
 * once the attack goes on, ends the attack at the first message that it gets, and sends the statuses that came, with their counts.
 */

const [name, address] = process.argv.slice(2) as [string, string]
const organisation: OrganisationAddress = JSON.parse(address)
await using attacker = await openOrganisation(organisation)
const attack = await attacks[name]!.prepare(attacker, organisation.pipelineUrl)
const statuses: Statuses = new Map()
const over = new AbortController()
const attacking = attack(over.signal, statuses)
process.send!('begun')
await once(process, 'message')
over.abort()
await attacking
process.send!([...statuses])
process.disconnect()
