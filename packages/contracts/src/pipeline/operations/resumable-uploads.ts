import { listOf } from '../../contract.ts'
import { defineSignature } from '../../operation-signature.ts'
import { ResumableUpload } from '../data-pipeline/uploaded-file.ts'

const manage = ['ROLE_MANAGE_DATA_PIPELINE'] as const
const uploads = '/data-pipelines/:uid/uploads'
const oneUpload = `${uploads}/:upload` as const

const version = { 'Tus-Resumable': { description: 'The version of tus, `1.0.0`.', required: true } }
const offset = { 'Upload-Offset': { description: 'Bytes that the service has stored.' } }
const expires = { 'Upload-Expires': { description: 'When the upload is removed, unless more bytes arrive before.' } }

/**
 * Operations for resumable uploads by tus 1.0 (https://tus.io/protocols/resumable-upload). HEAD of an upload is served
 * by `read`.
 */
export const resumableUploadSignatures = {
  list: defineSignature({
    id: 'resumableUploads.list',
    summary: 'List the resumable uploads to a pipeline',
    description: 'Returns the uploads of all users, newest first. Finished uploads are listed until they expire.',
    method: 'get',
    path: uploads,
    guard: manage,
    response: listOf(ResumableUpload),
  }),
  create: defineSignature({
    id: 'resumableUploads.create',
    summary: 'Start a resumable upload of the file that the next run loads',
    description:
      'Uses the protocol tus 1.0, for which clients exist in many languages. The request has no body. The length counts in the limit of all files of the organisation until the upload is finished, deleted or expired.',
    method: 'post',
    path: uploads,
    guard: manage,
    ifMatch: true,
    status: 201,
    requestHeaders: {
      ...version,
      'Upload-Length': { description: 'Bytes of the whole file.', required: true },
      'Upload-Metadata': {
        description: 'Pairs of a key and a value in base64. The key `filename` names the file; others are ignored.',
      },
    },
    responseHeaders: expires,
    response: ResumableUpload,
  }),
  append: defineSignature({
    id: 'resumableUploads.append',
    summary: 'Send the next bytes of a resumable upload',
    description:
      'The request that brings the last byte replaces the file of the pipeline, as a plain upload does. `read` then returns the result.',
    method: 'patch',
    path: oneUpload,
    guard: manage,
    ifMatch: true,
    mayWriteNothing: true,
    upload: 'application/offset+octet-stream',
    requestHeaders: {
      ...version,
      'Upload-Offset': {
        description: 'The position of the first byte, which must be that of the upload.',
        required: true,
      },
    },
    responseHeaders: { ...offset, ...expires },
  }),
  read: defineSignature({
    id: 'resumableUploads.read',
    summary: 'Read the state of a resumable upload',
    description:
      '`file` of a finished upload is what a plain upload of the file would have returned. A HEAD request, which tus clients send before they continue, needs `Tus-Resumable` and ends a request that still sends bytes. GET needs no such header, and disturbs no other request.',
    method: 'get',
    path: oneUpload,
    guard: manage,
    requestHeaders: { 'Tus-Resumable': { description: 'Only for HEAD: the version of tus, `1.0.0`.' } },
    responseHeaders: {
      ...offset,
      'Upload-Length': { description: 'Bytes of the whole file.' },
      'Upload-Metadata': { description: 'The value that the client sent.' },
    },
    response: ResumableUpload,
  }),
  delete: defineSignature({
    id: 'resumableUploads.delete',
    summary: 'Delete a resumable upload',
    description:
      'Every user who may write the pipeline can delete it, whereas only the user who started it can continue it. A file that has already replaced that of the pipeline stays.',
    method: 'delete',
    path: oneUpload,
    guard: manage,
    requestHeaders: version,
  }),
}
