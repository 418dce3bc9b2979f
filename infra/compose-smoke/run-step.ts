import pc from 'picocolors'

/** Runs one step and prints what it showed and how long it took; a failure passes on, after a line of its own. */
export const runStep = async <Result>(name: string, work: () => Promise<Result>): Promise<Result> => {
  const start = performance.now()
  const seconds = (): string => pc.dim(`${((performance.now() - start) / 1000).toFixed(1).padStart(6)} s`)
  try {
    const result = await work()
    console.log(`${pc.green('✓')} ${seconds()}  ${name}`)
    return result
  } catch (error) {
    console.log(`${pc.red('✗')} ${seconds()}  ${name}`)
    throw error
  }
}
