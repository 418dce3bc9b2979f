import { Counter, Histogram, type Registry } from '@sluice/process'

export type SchedulerMetrics = ReturnType<typeof schedulerMetrics>

export function schedulerMetrics(registry: Registry) {
  const registers = [registry]
  return {
    ticks: new Counter({
      name: 'pipeline_schedule_ticks_total',
      help: 'Ticks of schedules, by what became of them: a run, part of a later or a running one, or none.',
      labelNames: ['outcome'],
      registers,
    }),
    late: new Histogram({
      name: 'pipeline_schedule_late_seconds',
      help: 'How long after its tick a run was queued.',
      buckets: [0.5, 1, 2, 5, 10, 30, 60, 300, 3600],
      registers,
    }),
    failures: new Counter({
      name: 'pipeline_scheduler_failures_total',
      help: 'Rounds of the scheduler that failed.',
      labelNames: ['duty'],
      registers,
    }),
  }
}
