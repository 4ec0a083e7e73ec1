// MPI, which only host code calls. Handles are numbers, as in MPICH; the functions and constants that a module uses are
// written to library_names.h when it is compiled.
#pragma once

#include <parity/library_type.h>
#include <stddef.h>

typedef int MPI_Comm;
typedef int MPI_Datatype;
typedef int MPI_Errhandler;
typedef int MPI_Group;
typedef int MPI_Info;
typedef int MPI_Message;
typedef int MPI_Op;
typedef int MPI_Request;
typedef int MPI_Session;
typedef int MPI_Win;
typedef int MPI_Fint;
typedef ptrdiff_t MPI_Aint;
typedef long long MPI_Count;
typedef long long MPI_Offset;
typedef struct ADIOI_FileD* MPI_File;
typedef struct MPI_Status {
  int count_lo, count_hi_and_cancelled;
  int MPI_SOURCE, MPI_TAG, MPI_ERROR;
} MPI_Status;
typedef void MPI_User_function(void*, void*, int*, MPI_Datatype*);

#define MPI_VERSION 4
#define MPI_SUBVERSION 0
#define MPI_MAX_PROCESSOR_NAME 128
#define MPI_MAX_ERROR_STRING 512
#define MPI_STATUS_IGNORE ((MPI_Status*)1)
#define MPI_STATUSES_IGNORE ((MPI_Status*)1)
#define MPI_IN_PLACE ((void*)-1)
#define MPI_BOTTOM ((void*)0)
#define MPI_INFO_NULL ((MPI_Info)0)
#define MPI_SUCCESS 0

double MPI_Wtime();
double MPI_Wtick();

#include <parity/library_names.h>
