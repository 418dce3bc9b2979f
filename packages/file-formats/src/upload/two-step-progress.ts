import type { ReadReporter } from '@sluice/row-stream'

/**
 * Combines the progress of two steps, such as converting and reading an upload. Each step counts as half, and both are
 * reported in bytes of the upload.
 */
export function splitProgress(report: ReadReporter) {
  let uploadSize: number | undefined
  return {
    /** Reports the progress of the first step. An upload that is read in place skips this step. */
    reportFirstHalf(bytesRead: number, bytesTotal: number): void {
      uploadSize = bytesTotal
      report.progress({ bytesRead: Math.floor(bytesRead / 2), bytesTotal })
    },

    /** Returns the function that reports the progress of reading. `size` is the number of bytes to read. */
    createSecondReporter(size: number): ReadReporter['progress'] {
      return (counts) => {
        if (uploadSize === undefined || counts.bytesRead === undefined) return report.progress(counts)
        const readShare = size === 0 ? 1 : Math.min(1, counts.bytesRead / size)
        report.progress({
          ...counts,
          bytesRead: Math.floor((uploadSize * (1 + readShare)) / 2),
          bytesTotal: uploadSize,
        })
      }
    },
  }
}
