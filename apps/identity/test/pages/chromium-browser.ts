import { existsSync } from 'node:fs'
import { describe } from '@jest/globals'
import puppeteer, { type Browser, type Page } from 'puppeteer-core'

const program = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find((path) =>
  existsSync(path),
)

export const chromiumIsThere = program !== undefined

/** Like `describe`, for tests in Chromium. Skips them, with a note, if Chromium is not installed. */
export const describeInBrowser: (name: string, tests: () => void) => void = program
  ? describe
  : (name, tests) => describe.skip(`${name} (no Chromium here: apt-get install chromium)`, tests)

/**
 * Starts a browser. `elsewhere` maps public hosts to addresses, such as `localhost:3001` to `127.0.0.1:4711`. Disables
 * the sandbox, which does not work for root and in containers.
 */
export const startBrowser = (elsewhere: Record<string, string> = {}): Promise<Browser> =>
  puppeteer.launch({
    executablePath: program!,
    args: [
      '--no-sandbox',
      '--disable-dev-shm-usage',
      '--disable-gpu',
      '--disable-background-networking',
      ...Object.entries(elsewhere).map(([name, at]) => `--host-resolver-rules=MAP ${name} ${at}`),
    ],
  })

interface Visit {
  javaScript: boolean
  scheme?: 'light' | 'dark'
  width?: number
  language?: string
}

/** Opens a tab with its own cookies. Also returns its requests and its console messages. */
export async function visit(browser: Browser, { javaScript, scheme = 'light', width = 1280, language = 'en' }: Visit) {
  const context = await browser.createBrowserContext()
  const page = await context.newPage()
  const requests: { method: string; url: string; referer: string | undefined }[] = []
  const consoleMessages: string[] = []
  page.on('request', (request) =>
    requests.push({ method: request.method(), url: request.url(), referer: request.headers()['referer'] }),
  )
  page.on('console', (message) => consoleMessages.push(message.text()))
  page.on('pageerror', (error) => consoleMessages.push(String(error)))
  await page.setJavaScriptEnabled(javaScript)
  await page.setExtraHTTPHeaders({ 'accept-language': language })
  await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: scheme }])
  await page.setViewport({ width, height: 844 })
  return { page, requests, consoleMessages, close: () => context.close() }
}

/** Clicks an element and waits for the navigation. */
export async function follow(page: Page, selector: string): Promise<void> {
  await Promise.all([page.waitForNavigation(), page.click(selector)])
}

/** Returns the visible text of a page. */
export const textOf = async (page: Page): Promise<string> => page.$eval('body', (body) => body.innerText)
