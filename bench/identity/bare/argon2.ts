import { hashPassword, verifyPassword } from '../../../apps/identity/src/sign-in/password/password-hashing.ts'

/**
 * The most sign-ins that the cores could do if there were nothing but the password to check, with our own cost and as many
 * at once. Told for how many seconds, answers how many there were in each.
 */

const stored = await hashPassword('heron-sifts-41-pebbles')

process.on('message', (seconds: number) => {
  void measure(seconds).then((rate) => process.send!(rate))
})
process.send!('ready')

async function measure(seconds: number): Promise<number> {
  const began = performance.now()
  let checked = 0
  await Promise.all(
    // More than are checked at once: the next one waits beside its place.
    Array.from({ length: 8 }, async () => {
      while (performance.now() - began < seconds * 1000) {
        await verifyPassword('heron-sifts-41-pebbles', stored)
        checked++
      }
    }),
  )
  return (checked * 1000) / (performance.now() - began)
}
