import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { expect, it } from '@jest/globals'

it('a program finishes its work without an error message if its output pipe is closed early', async () => {
  const main = new URL('../src/run-main.ts', import.meta.url).href
  const program = `
    import { main } from ${JSON.stringify(main)}
    await main(async () => {
      process.stdout.write('first\\n')
      await new Promise((resolve) => process.once('message', resolve))
      for (let line = 0; line < 3; line += 1) {
        process.stdout.write('more\\n')
        await new Promise((resolve) => setTimeout(resolve, 10))
      }
      process.send('done', () => process.disconnect())
    })`
  const child = spawn(process.execPath, ['--input-type=module', '--eval', program], {
    env: { ...process.env, NODE_OPTIONS: '' },
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  })
  let errors = ''
  child.stderr!.on('data', (piece) => (errors += piece))
  await once(child.stdout!, 'data')
  child.stdout!.destroy()
  child.send('go on')
  const [[message], [code]] = await Promise.all([once(child, 'message'), once(child, 'close')])
  expect([message, code, errors]).toEqual(['done', 0, ''])
})
