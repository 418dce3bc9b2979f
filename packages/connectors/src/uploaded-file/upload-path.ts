import { join } from 'node:path'

/** Returns the directory of uploaded files, in which each file has its uid as its name. The API writes the files, and the workers read them. */
export const getUploadsDirectory = (filesDirectory: string): string => join(filesDirectory, 'uploads')

export const getUploadPath = (filesDirectory: string, uid: string): string =>
  join(getUploadsDirectory(filesDirectory), uid)
