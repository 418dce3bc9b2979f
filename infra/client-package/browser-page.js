import { followRun, items, RemoteProblem, serviceClient, signIn, upload } from '@sluice/client'
import { dataPipelines, schemas } from '@sluice/client/pipeline'
import { resumableTransport } from '@sluice/client/resumable'

/** The script of index.html: it signs in, lists schemas page by page, and loads a chosen file. */

/** Requested without waiting, so that the forms have their listeners before a user submits them. */
const addresses = fetch('/addresses.json').then((response) => response.json())

let session
let pipeline

const element = (selector) => document.querySelector(selector)

function append(list, text) {
  const item = document.createElement('li')
  item.textContent = text
  element(list).append(item)
}

/** Runs the action when the form is submitted, shows its error, and marks the form as busy until it has ended. */
function onSubmit(form, action) {
  element(form).addEventListener('submit', async (event) => {
    event.preventDefault()
    element('#error').textContent = ''
    element(form).ariaBusy = 'true'
    try {
      await action(new FormData(element(form)))
    } catch (error) {
      const pointers = error instanceof RemoteProblem ? error.errors.map(({ pointer }) => ` (${pointer})`).join('') : ''
      element('#error').textContent = `${error.message}${pointers}`
    }
    element(form).ariaBusy = 'false'
  })
}

onSubmit('#sign-in', async (fields) => {
  const { identityUrl, pipelineUrl } = await addresses
  const username = String(fields.get('username'))
  session = await signIn({ identityUrl, username, password: String(fields.get('password')) })
  pipeline = serviceClient({ baseUrl: pipelineUrl, token: session.token })
  for await (const { name } of items(pipeline, schemas.list, { query: { pageSize: 2, order: ['name:asc'] } }))
    append('#schemas', name)
})

onSubmit('#load', async (fields) => {
  const file = fields.get('file')
  const onProgress = (sent, size) => append('#sent', `${sent} of ${size}`)
  const [schema] = await pipeline.call(schemas.list, { query: { pageSize: 1, order: ['name:asc'] } })
  const { id } = await pipeline.call(dataPipelines.create, {
    body: {
      name: file.name.replace(/\.csv$/, ''),
      type: 'CSV_UPLOAD',
      disabled: false,
      runTrigger: 'NEVER',
      dataWarehouseTarget: { schema: { id: schema.id } },
    },
  })
  await upload(pipeline, dataPipelines.upload, {
    params: { uid: id },
    query: { name: file.name },
    body: file,
    onProgress,
    ...(fields.get('resumable') && { transport: resumableTransport(file, { storage: localStorage, onProgress }) }),
  })
  const { data } = await pipeline.call(dataPipelines.run, { params: { uid: id }, body: {} })
  for await (const event of followRun(pipeline, { uid: id, taskId: String(data?.['taskId']) })) {
    if (event.event === 'log') append('#log', event.data.message)
    else if (event.data.finished) element('#outcome').textContent = `${event.data.status}: ${event.data.message}`
  }
  await session.signOut()
})
