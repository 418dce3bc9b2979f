/** The attempt no longer holds the lease of its run: the run was cancelled, deleted, or taken over by another attempt. */
export class LeaseLost extends Error {
  override readonly name = 'LostRun'
}
