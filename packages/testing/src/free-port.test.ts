import { spawn } from 'node:child_process'
import { text } from 'node:stream/consumers'
import { expect, it } from '@jest/globals'

// The two processes request half of all ports. Without reservations, hundreds of ports would be returned twice.
it('reserves a port against other processes until its own process ends', async () => {
  const reserveMany = `
    import { freePort } from ${JSON.stringify(new URL('./free-port.ts', import.meta.url).href)}
    const ports = []
    while (ports.length < 1500) ports.push(await freePort())
    console.log(JSON.stringify(ports))
    process.stdin.resume()`
  const processes = [0, 1].map(() => spawn(process.execPath, ['--input-type=module', '-e', reserveMany]))
  const outputs = processes.map((one) => text(one.stdout))
  await Promise.all(processes.map(({ stdout }) => new Promise((resolve) => stdout.once('data', resolve))))
  for (const { stdin } of processes) stdin.end()
  const ports = (await Promise.all(outputs)).flatMap((output) => JSON.parse(output) as number[])
  expect(new Set(ports).size).toBe(3_000)
})
