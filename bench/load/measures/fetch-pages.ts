/**
 * `node fetch-pages.ts <address>`: fetches and parses all pages of a function, and prints the processor time for it in
 * milliseconds.
 */
const [, , url = ''] = process.argv
const before = process.cpuUsage()
for (let page: number | undefined = 1; page !== undefined; ) {
  const response: Response = await fetch(url, { method: 'POST', body: JSON.stringify({ page }) })
  const { nextToken } = JSON.parse(await response.text()) as { nextToken?: number }
  page = nextToken === undefined ? undefined : page + 1
}
const { user, system } = process.cpuUsage(before)
process.stdout.write(String((user + system) / 1_000))
