import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Router } from 'express'

const styleText = readFileSync(join(import.meta.dirname, 'style.css'), 'utf8')
const stylesheetHash = createHash('sha256').update(styleText).digest('base64url').slice(0, 16)

/** The path of the stylesheet. It contains the content hash, so that browsers can cache the file forever. */
export const stylesheetPath = `/account/style-${stylesheetHash}.css`

export function createStylesheetRoutes(): Router {
  const routes = Router()
  routes.get(stylesheetPath, (_request, response) => {
    response.set('Cache-Control', 'public, max-age=31536000, immutable').type('css').send(styleText)
  })
  return routes
}
