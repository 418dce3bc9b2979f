import { hashPassword, verifyPassword } from '../../../apps/identity/src/sign-in/password/password-hashing.ts'

/**
 * Measures the upper limit of password sign-ins: only password verification, with the cost and the concurrency of the
 * service. Receives the seconds of a round as a message and responds with the verifications per second.
 */

const stored = await hashPassword('heron-sifts-41-pebbles')

process.on('message', (seconds: number) => {
  void measure(seconds).then((rate) => process.send!(rate))
})
process.send!('ready')

async function measure(seconds: number): Promise<number> {
  const startedAt = performance.now()
  let verifications = 0
  await Promise.all(
    // More than the concurrency of the verification, so that a task is always waiting.
    Array.from({ length: 8 }, async () => {
      while (performance.now() - startedAt < seconds * 1000) {
        await verifyPassword('heron-sifts-41-pebbles', stored)
        verifications++
      }
    }),
  )
  return (verifications * 1000) / (performance.now() - startedAt)
}
