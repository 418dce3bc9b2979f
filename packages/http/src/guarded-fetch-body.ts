import { OutgoingProblem } from './guarded-fetch-problem.ts'

interface Limits {
  maxBytes: number
  host: string
  /** What an error of the stream is called. */
  problem(error: unknown): OutgoingProblem
}

/** The same response, whose body breaks off with a problem once it grows beyond `maxBytes`. */
export async function capped(response: Response, { maxBytes, host, problem }: Limits): Promise<Response> {
  const { status, statusText, headers, body } = response
  const tooLarge = () =>
    new OutgoingProblem(`${host} answers more than the ${maxBytes} bytes that are read.`, { code: 'ANSWER_TOO_LARGE' })
  if (Number(headers.get('content-length') ?? 0) > maxBytes) {
    await body?.cancel()
    throw tooLarge()
  }
  const limited = body && stream(body, maxBytes, tooLarge, problem)
  return new Response(limited, { status, statusText, headers: [...headers] })
}

function stream(
  body: ReadableStream<Uint8Array>,
  maxBytes: number,
  tooLarge: () => OutgoingProblem,
  problem: Limits['problem'],
): ReadableStream<Uint8Array> {
  const reader = body.getReader()
  let read = 0
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      const { done, value } = await reader.read().catch((error: unknown) => {
        throw problem(error)
      })
      if (done) return controller.close()
      read += value.byteLength
      if (read <= maxBytes) return controller.enqueue(value)
      controller.error(tooLarge())
      await reader.cancel()
    },
    cancel: (reason) => reader.cancel(reason),
  })
}
