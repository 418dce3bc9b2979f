import { openAsBlob } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { createSluiceLoader } from '../../load/loaders/sluice-loader.ts'
import type { Installation } from '../../load/installation.ts'
import { compare, type SourceResult, type BenchContext, type Reference } from './measure.ts'
import { rawCommand } from '../raw-transfer.ts'
import { binaryCopyBytes, copyOut } from './databases.ts'

const key = 'bench_wide'

/** Measures a copy of a public dataset against COPY of the same rows with discarded output. */
export async function publicDataset(
  context: BenchContext,
  { file, source, expected }: Reference,
): Promise<SourceResult> {
  await upload(context.installation, file.path)
  const sluice = await createSluiceLoader(context.installation, {
    name: 'source_dataset',
    type: 'PUBLIC_DATASET',
    settings: { key },
  })
  const raw = rawCommand(copyOut, await binaryCopyBytes(source), { SOURCE: source })
  return compare(context, { type: 'PUBLIC_DATASET', label: 'a public dataset', raw, sluice, expected })
}

async function upload({ pipelineUrl, token }: Installation, path: string): Promise<void> {
  const headers = async () => ({ authorization: `Bearer ${await token()}` })
  const form = new FormData()
  form.set('key', key)
  form.set('name', 'Wide rows')
  form.set('file', await openAsBlob(path), 'wide.csv')
  const datasets = `${pipelineUrl}/api/v1/public-datasets`
  const created = await fetch(datasets, { method: 'POST', headers: await headers(), body: form })
  if (!created.ok) throw new Error(`The public dataset was not taken: ${created.status} ${await created.text()}`)
  for (;;) {
    const response = await fetch(`${datasets}/${key}`, { headers: await headers() })
    const { status } = (await response.json()) as { status?: { lastRunStatus?: string } }
    if (status?.lastRunStatus === 'OK') return
    if (status?.lastRunStatus === 'FAILED') throw new Error('The public dataset was not loaded.')
    await pause(500)
  }
}
