import { outgoingAllowed } from '@sluice/http-client'

/** Allows stand-ins on this machine. */
export const allowedLoopback = outgoingAllowed().parse('127.0.0.1')
