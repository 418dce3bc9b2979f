import { DestinationProblem } from '../destinations/destination-problem.ts'
import { readDestination } from '../destinations/read-destination.ts'
import { describePush } from '../destinations/push-report.ts'
import { openMeter, logProgress } from '../runs/progress-meter.ts'
import { openRejectedRows } from '../runs/rejected-rows.ts'
import type { RunAttempt, RunSuccess, RunHandler, RunContext } from './run-handler.ts'

/** Rows per page when the view is read. */
const pageRows = 2_000

/**
 * Pushes the rows of a view to its target. If an attempt crashes, the next one sends all rows again, which is safe.
 * Throws `DestinationProblem`, `WarehouseProblem`, or the signal's reason.
 */
async function pushDestination(context: RunContext, attempt: RunAttempt): Promise<RunSuccess> {
  const { claim, log, signal, reportProgress, sendHeartbeat } = attempt
  const {
    target,
    options,
    schema,
    view,
    pending: pendingReason,
  } = await readDestination(context.db, context.keyRing, claim.subject.id)
  const qualifiedName = `${schema}.${view}`
  const dryRunText = options.dryRun ? ' This is a dry run: the target checks all rows and stores none.' : ''
  log.write('INFO', 'LOW', `Attempt ${claim.attempt} begins to push ${qualifiedName} to ${target.url}.${dryRunText}`)
  const warehouse = await context.warehouses.open(claim.client)
  const builtView = await warehouse.views.find(schema, view)
  if (!builtView)
    throw new DestinationProblem(
      'VIEW_MISSING',
      pendingReason ??
        `The view ${qualifiedName} does not exist in the warehouse. Run the view, then run this destination again.`,
    )

  if (!builtView.populated)
    throw new DestinationProblem('VIEW_NOT_FILLED', `The view ${qualifiedName} has no rows yet. Run the view first.`)

  await using rejectedRows = await openRejectedRows(context.db, claim)
  const meter = openMeter()
  reportProgress(meter)
  using _progressLog = logProgress(meter, log)
  const text = `select * from ${quoteColumnName(schema)}.${quoteColumnName(view)}`
  const pushResult = await context.destinations.push(
    { target, options, columns: builtView.columns, pages: warehouse.queries.queryPages({ text }, pageRows, signal) },
    {
      progress: (totals) => meter.progress(totals),
      reject: (row) => rejectedRows.add(row),
      rejected: (rows) => meter.rejected(rows),
      log: (level, importance, message) => log.write(level, importance, message),
    },
    signal,
  )
  // Store the final counts, because no other heartbeat follows.
  await sendHeartbeat()
  const acceptedRows = Math.max(0, pushResult.rows - pushResult.empty - pushResult.rejected)
  if (pushResult.rejected > 0 && acceptedRows === 0)
    throw new DestinationProblem('ALL_ROWS_REJECTED', describePush(qualifiedName, pushResult, options))
  return {
    state: pushResult.rejected > 0 || pushResult.sent === 0 || pushResult.warning !== undefined ? 'WARNING' : 'OK',
    message: describePush(qualifiedName, pushResult, options),
    rowsWritten: options.dryRun ? 0 : acceptedRows,
    bytesWritten: pushResult.bytes,
    rowsRejected: pushResult.rejected,
  }
}

const quoteColumnName = (name: string): string => `"${name.replaceAll('"', '""')}"`

export const destinationHandler: RunHandler = { run: pushDestination }
