import { Counter, Gauge, Histogram, type Registry } from '@sluice/process'

export type WorkerMetrics = ReturnType<typeof workerMetrics>

export function workerMetrics(registry: Registry) {
  const registers = [registry]
  return {
    attempts: new Counter({
      name: 'pipeline_run_attempts_total',
      help: 'Attempts at runs, by outcome.',
      labelNames: ['outcome'],
      registers,
    }),
    running: new Gauge({ name: 'pipeline_running_loads', help: 'Runs that this worker executes.', registers }),
    rows: new Counter({ name: 'pipeline_published_rows_total', help: 'Rows that runs published.', registers }),
    bytes: new Counter({ name: 'pipeline_published_bytes_total', help: 'Bytes that runs published.', registers }),
    rejected: new Counter({ name: 'pipeline_rejected_rows_total', help: 'Rows that runs rejected.', registers }),
    seconds: new Histogram({
      name: 'pipeline_run_seconds',
      help: 'Duration of attempts, by outcome.',
      labelNames: ['outcome'],
      buckets: [0.1, 0.5, 1, 2, 5, 10, 30, 60, 300, 900, 3600, 14_400, 43_200],
      registers,
    }),
    waited: new Histogram({
      name: 'pipeline_run_wait_seconds',
      help: 'Time from the request of a run to its first attempt.',
      buckets: [0.05, 0.1, 0.25, 0.5, 1, 2, 5, 15, 60, 300, 1800],
      registers,
    }),
    swept: new Counter({
      name: 'pipeline_janitor_removed_total',
      help: 'Items that maintenance removed, by kind.',
      labelNames: ['kind'],
      registers,
    }),
  }
}
