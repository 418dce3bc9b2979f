import { pipelineBody, schemaBody, type Asking } from './app-under-test.ts'

/** Makes what an owner may have, each time anew, and answers its uid. */
export function fresh(owner: () => Asking) {
  const made = async (path: string, body: object): Promise<string> =>
    (await owner().post(path).send(body).expect(201)).body.id
  const schema = () => made('/schemas', schemaBody())
  const pipelineIn = (into: string, changes: object = {}) => made('/data-pipelines', pipelineBody(into, changes))
  const pipeline = async () => pipelineIn(await schema())
  return {
    made,
    schema,
    pipelineIn,
    pipeline,
    /** A pipeline that can be run. */
    async pipelineWithFile() {
      const uid = await pipeline()
      await owner().post(`/data-pipelines/${uid}/file`).type('text/csv').send('a\n1\n').expect(200)
      return uid
    },
  }
}

export type Fresh = ReturnType<typeof fresh>
