import { createHmac } from 'node:crypto'
import { sql } from 'kysely'
import { goodPassword, type Service } from './app-under-test.ts'

type Person = Awaited<ReturnType<Service['as']>>

/** The code of a seed (RFC 6238), `ahead` time steps from now. An implementation independent of the service's own. */
export function totpCode(seed: string, ahead = 0): string {
  const counter = Buffer.alloc(8)
  counter.writeBigUInt64BE(BigInt(Math.floor(Date.now() / 30_000) + ahead))
  const digest = createHmac('sha1', base32(seed)).update(counter).digest()
  const at = digest.at(-1)! & 15
  return String((digest.readUInt32BE(at) & 0x7fff_ffff) % 1_000_000).padStart(6, '0')
}

function base32(text: string): Buffer {
  const bits = [...text].map((letter) =>
    'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'.indexOf(letter).toString(2).padStart(5, '0'),
  )
  const bytes = bits.join('').match(/.{8}/g) ?? []
  return Buffer.from(bytes.map((byte) => Number.parseInt(byte, 2)))
}

/** Enrols a second factor for a user, and makes the current code valid again. */
export async function enrolSecondFactor(service: Service, person: Person) {
  const { body } = await person.post('/users/me/second-factor').send({ password: goodPassword }).expect(200)
  const seed = body.secret as string
  const confirmed = await person
    .put('/users/me/second-factor')
    .send({ code: totpCode(seed) })
    .expect(200)
  await resetUsedCode(service, person)
  return { seed, recoveryCodes: confirmed.body.recoveryCodes as string[], code: (ahead = 0) => totpCode(seed, ahead) }
}

export async function resetUsedCode(service: Service, { uid }: { uid: string }): Promise<void> {
  await sql`update second_factors set last_step = 0 where user_id = (select id from users where uid = ${uid})`.execute(
    service.db,
  )
}

/** Creates a user with a second factor, and a ticket from a sign-in with the right password. */
export async function createUserWithTicket(service: Service) {
  const person = await service.as([])
  const factor = await enrolSecondFactor(service, person)
  return { person, ...factor, ticket: await requestTicket(service, person) }
}

export async function requestTicket(service: Service, { username }: { username: string }): Promise<string> {
  const { body } = await service.http.post('/api/v1/auth/login').send({ username, password: goodPassword }).expect(200)
  return body.secondFactor.ticket
}
