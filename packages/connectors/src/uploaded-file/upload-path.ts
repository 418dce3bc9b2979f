import { join } from 'node:path'

/** The directory of uploaded files, by their uid. The API writes them, and the workers read them. */
export const uploadsDirectory = (filesDirectory: string): string => join(filesDirectory, 'uploads')

export const uploadPath = (filesDirectory: string, uid: string): string => join(uploadsDirectory(filesDirectory), uid)
