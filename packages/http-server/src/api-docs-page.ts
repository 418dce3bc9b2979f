import { createRequire } from 'node:module'
import { dirname } from 'node:path'
import express, { Router } from 'express'

const swaggerAssetsFolder = dirname(createRequire(import.meta.url).resolve('swagger-ui-dist/package.json'))

const renderDocsPage = (title: string) => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title}</title>
<link rel="stylesheet" href="docs/assets/swagger-ui.css">
</head>
<body>
<div id="reference"></div>
<script src="docs/assets/swagger-ui-bundle.js"></script>
<script src="docs/start.js"></script>
</body>
</html>
`

const swaggerStartScript = `SwaggerUIBundle({
  url: 'openapi.json', dom_id: '#reference', deepLinking: true, filter: true,
  docExpansion: 'none', defaultModelsExpandDepth: 0, persistAuthorization: false, validatorUrl: null,
})
`

/** Serves the API reference at `/docs` from local files. The page loads nothing from other hosts. */
export function createDocsRoutes(title: string): Router {
  const routes = Router()
  const policy =
    "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; script-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
  routes.get('/docs', (_request, response) => {
    response.set('Content-Security-Policy', policy).type('html').send(renderDocsPage(title))
  })
  routes.get('/docs/start.js', (_request, response) => {
    response.type('js').send(swaggerStartScript)
  })
  routes.use('/docs/assets', express.static(swaggerAssetsFolder, { index: false, maxAge: '1d', extensions: false }))
  return routes
}
