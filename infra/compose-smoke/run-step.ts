import pc from 'picocolors'

/** Runs a step, prints its name and duration, and returns its result. Rethrows its error. */
export const runStep = async <Result>(name: string, action: () => Promise<Result>): Promise<Result> => {
  const start = performance.now()
  const seconds = (): string => pc.dim(`${((performance.now() - start) / 1000).toFixed(1).padStart(6)} s`)
  try {
    const result = await action()
    console.log(`${pc.green('✓')} ${seconds()}  ${name}`)
    return result
  } catch (error) {
    console.log(`${pc.red('✗')} ${seconds()}  ${name}`)
    throw error
  }
}
