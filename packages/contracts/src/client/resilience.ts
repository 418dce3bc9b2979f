import {
  BrokenCircuitError,
  CircuitState,
  ConsecutiveBreaker,
  DelegateBackoff,
  ExponentialBackoff,
  TimeoutStrategy,
  circuitBreaker,
  handleWhen,
  noJitterGenerator,
  retry,
  timeout,
  type CircuitBreakerPolicy,
  type IBackoff,
  type IRetryBackoffContext,
} from 'cockatiel'
import { ServiceUnavailable } from './errors.ts'

export type Circuit = 'closed' | 'open' | 'half-open'

export interface ResilienceOptions {
  /** Milliseconds for each attempt, from connecting to the last byte of the response; 3,000 when absent. Uploads have no limit. */
  timeout?: number
  /** Maximum number of retries, of reads only; 2 when absent. */
  retries?: number
  /** Milliseconds; 2,000 when absent. No retry if Retry-After is longer. */
  patience?: number
  /** Consecutive failures that open the circuit; 5 when absent. */
  failuresToOpen?: number
  /** Milliseconds until one call may try an open circuit; 1,000 when absent, doubled with each failure up to 10,000. */
  open?: number
  /** Called when the circuit opens, becomes half-open, or closes. */
  onCircuit?: (circuit: Circuit) => void
}

interface RunOptions {
  /** Only for idempotent calls. */
  retried: boolean
  timed: boolean
  signal: AbortSignal | undefined
}

const maxOpenMs = 10_000

/** The circuit breaker of one service: retries wrap the circuit, which wraps the time limit of each attempt. */
export function resilience(name: string, options: ResilienceOptions = {}) {
  const { timeout: limit = 3_000, retries = 2, patience = 2_000, failuresToOpen = 5, open = 1_000 } = options
  // In the half-open state, every result except a response is a failure: an aborted call proves nothing about the service.
  const circuit: CircuitBreakerPolicy = circuitBreaker(
    handleWhen((error) => isOutage(error) || circuit.state === CircuitState.HalfOpen),
    {
      breaker: new ConsecutiveBreaker(failuresToOpen),
      halfOpenAfter: new ExponentialBackoff({
        generator: noJitterGenerator,
        initialDelay: open,
        maxDelay: Math.max(open, maxOpenMs),
      }),
    },
  )
  circuit.onStateChange((state) => options.onCircuit?.(circuitName(state)))
  const retryPolicy = retry(
    handleWhen((error) => isOutage(error) && (error.retryAfter ?? 0) <= patience),
    { maxAttempts: retries, backoff: retryBackoff },
  )
  const attemptTimeout = timeout(limit, { strategy: TimeoutStrategy.Cooperative, abortOnReturn: false })

  async function once<T>(work: (signal: AbortSignal) => Promise<T>, timed: boolean, signal: AbortSignal) {
    signal.throwIfAborted()
    // While one call tests the circuit, cockatiel would make the others wait for its outcome: up to a whole time limit.
    if (circuit.state === CircuitState.HalfOpen) throw circuitOpen(name)
    const attempt = ({ signal }: { signal: AbortSignal }) => work(signal)
    return circuit.execute(
      (context) => (timed ? attemptTimeout.execute(attempt, context.signal) : attempt(context)),
      signal,
    )
  }

  return {
    circuit: (): Circuit => circuitName(circuit.state),
    /** Runs `work` and rethrows its errors. Throws `ServiceUnavailable` immediately while the circuit is open. */
    async run<T>(work: (signal: AbortSignal) => Promise<T>, { retried, timed, signal }: RunOptions): Promise<T> {
      signal?.throwIfAborted()
      const tries = retried
        ? retryPolicy.execute((context) => once(work, timed, context.signal), signal)
        : once(work, timed, signal ?? never)
      try {
        return await (signal ? untilAborted(tries, signal) : tries)
      } catch (error) {
        throw error instanceof BrokenCircuitError ? circuitOpen(name) : error
      }
    },
  }
}

const never = new AbortController().signal

const isOutage = (error: unknown): error is ServiceUnavailable =>
  error instanceof ServiceUnavailable && error.reason !== 'circuit-open' && error.reason !== 'malformed-answer'

const circuitOpen = (name: string) =>
  new ServiceUnavailable('circuit-open', `${name} failed too often just now and is left alone for a moment.`)

function circuitName(state: CircuitState): Circuit {
  if (state === CircuitState.Closed) return 'closed'
  return state === CircuitState.HalfOpen ? 'half-open' : 'open'
}

/** Backoff with decorrelated jitter that respects Retry-After. */
const jitter = new ExponentialBackoff({ initialDelay: 100, maxDelay: 1_000 })
const retryBackoff = new DelegateBackoff<IRetryBackoffContext<unknown>, IBackoff<unknown>>((context, before) => {
  const next = before ? before.next(context) : jitter.next()
  const { result } = context
  const requestedDelay =
    'error' in result && result.error instanceof ServiceUnavailable ? (result.error.retryAfter ?? 0) : 0
  return { delay: Math.max(next.duration, requestedDelay), state: next }
})

/** Rejects when the signal aborts, so that a pause between two attempts does not delay an aborted call. */
async function untilAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  const { promise: aborted, reject } = Promise.withResolvers<never>()
  const onAbort = () => reject(signal.reason)
  signal.addEventListener('abort', onAbort, { once: true })
  try {
    return await Promise.race([promise, aborted])
  } finally {
    signal.removeEventListener('abort', onAbort)
  }
}
