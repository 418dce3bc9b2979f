import { randomBytes } from 'node:crypto'
import type { Asking } from './app-under-test.ts'

/** What a dataset is uploaded with, as `multipart/form-data` whose boundary is x. */
export function datasetForm(key = `dataset_${randomBytes(6).toString('hex')}`): string {
  const part = (name: string, value: string) =>
    `--x\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`
  return `${part('key', key)}${part('name', 'About it')}${part('file"; filename="a.csv', 'a,b\n1,2\n')}--x--\r\n`
}

/** Uploads one, and answers its key once a worker has loaded it. */
export async function loadedDataset(owner: Asking): Promise<string> {
  const uploading = owner.post('/public-datasets?wait=60').type('multipart/form-data; boundary=x').send(datasetForm())
  const { body } = await uploading.expect(201)
  return body.key as string
}

/** A good request of every operation of public datasets. */
export function goodPublicDatasets(given: () => { datasets: { kept: string; doomed: string } }) {
  const kept = () => ({ key: given().datasets.kept })
  return {
    'publicDatasets.list': async () => ({ query: '?pageSize=5&order=name:idesc&filter=key:like:dataset' }),
    'publicDatasets.create': async () => ({ query: '?wait=0', body: datasetForm() }),
    'publicDatasets.read': async () => kept(),
    'publicDatasets.update': async () => ({ ...kept(), body: { ...kept(), name: 'Another name', tags: ['a'] } }),
    'publicDatasets.delete': async () => ({ key: given().datasets.doomed }),
    'publicDatasets.upload': async () => ({ ...kept(), query: '?wait=0&name=b.csv&rebuild=true' }),
    'publicDatasets.data': async () => ({ ...kept(), query: '?page=1&pageSize=10' }),
  }
}
