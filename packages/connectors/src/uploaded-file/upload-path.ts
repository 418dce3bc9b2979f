import { join } from 'node:path'

/**
 * Returns the directory of uploaded files. Each file is named by its uid. The API writes the files, and workers read
 * them.
 */
export const getUploadsDirectory = (filesDirectory: string): string => join(filesDirectory, 'uploads')

export const getUploadPath = (filesDirectory: string, uid: string): string =>
  join(getUploadsDirectory(filesDirectory), uid)
