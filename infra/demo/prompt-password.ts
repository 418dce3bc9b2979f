import { createInterface } from 'node:readline/promises'
import { Writable } from 'node:stream'

/** Reads a line from the terminal without showing it. Rejects with the signal's reason, or on Ctrl-C. */
export async function promptPassword(question: string, signal: AbortSignal): Promise<string> {
  const { stdin, stdout } = process
  const silence = new Writable({ write: (_chunk, _encoding, done) => done() })
  const lines = createInterface({ input: stdin, output: silence, terminal: true })
  const interrupted = new AbortController()
  lines.once('SIGINT', () => interrupted.abort(signal.reason ?? new DOMException('Interrupted', 'AbortError')))
  lines.once('close', () => interrupted.abort(new DOMException('No more input', 'AbortError')))
  stdout.write(question)
  try {
    return await lines.question('', { signal: AbortSignal.any([signal, interrupted.signal]) })
  } finally {
    lines.close()
    stdout.write('\n')
  }
}
