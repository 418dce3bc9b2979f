import { join } from 'node:path'

/** Where uploaded files are, by their uid: shared by the API, which writes them, and the workers, which read them. */
export const uploadsDirectory = (filesDirectory: string): string => join(filesDirectory, 'uploads')

export const uploadPath = (filesDirectory: string, uid: string): string => join(uploadsDirectory(filesDirectory), uid)
